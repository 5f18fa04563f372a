import { parseSettings, SettingsError } from "@board/core/config/settings";
import { asOperator } from "./operator.ts";
import { withGeneratedSecrets } from "./secrets.ts";

/**
 * Creates a link by which an owner signs in once, after losing every other way to sign in: the first owner, or the owner with this
 * e-mail address.
 */
export async function createOwnerLink(environment: NodeJS.ProcessEnv, email: string | null): Promise<string> {
  const settings = parseSettings(withGeneratedSecrets(environment), "local");
  if (settings.auth.mode !== "accounts")
    throw new SettingsError(
      `Sign-in links exist only with AUTH_MODE=accounts, and this service has AUTH_MODE=${settings.auth.mode}. npm run accounts:migrate changes that.`,
    );
  return asOperator(settings, async (createContext) => {
    const { openAccounts } = await import("@board/accounts/accounts");
    const accounts = openAccounts(settings, createContext);
    const token = email === null ? await accounts.createOwnerLink() : await accounts.createOwnerLinkFor(email);
    if (token === null) throw new SettingsError(`No owner of an organization has an account with the e-mail address ${email}.`);
    return `${settings.service_url}/#link=${token}`;
  });
}
