import { parseSettings, SettingsError } from "@board/core/config/settings";
import { asOperator } from "./operator.ts";
import { withGeneratedSecrets } from "./secrets.ts";

/** Creates a link by which the owner signs in once, after losing every other way to sign in. */
export async function createOwnerLink(environment: NodeJS.ProcessEnv): Promise<string> {
  const settings = parseSettings(withGeneratedSecrets(environment), "local");
  if (settings.auth.mode !== "accounts")
    throw new SettingsError(
      `Only accounts have links, and people sign in by AUTH_MODE=${settings.auth.mode}. npm run accounts:migrate changes that.`,
    );
  return asOperator(settings, async (createContext) => {
    const { openAccounts } = await import("@board/accounts/accounts");
    return `${settings.service_url}/#link=${await openAccounts(settings, createContext).createOwnerLink()}`;
  });
}
