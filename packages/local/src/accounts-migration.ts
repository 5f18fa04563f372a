import { ACCOUNTS_ISSUER } from "@board/accounts/issuer";
import { parseSettings, SettingsError } from "@board/core/config/settings";
import { LOCAL_IDENTITY } from "@board/core/organization/identity";
import { countPeopleByIssuer } from "@board/core/organization/people-by-issuer";
import { findMode, type FolderMode, readMark, writeMark } from "./folder-mode.ts";
import { asOperator } from "./operator.ts";
import { dataFolder, withGeneratedSecrets } from "./secrets.ts";

/** Changes how people sign in to the service of a data folder, and returns what to tell the operator. No row is removed. */
export async function migrateAccounts(environment: NodeJS.ProcessEnv, mode: FolderMode): Promise<string[]> {
  const folder = dataFolder(environment);
  const present = findMode(environment, folder);
  if (present.by === "setting" && present.mode !== mode)
    throw new SettingsError(
      `AUTH_MODE=${present.mode} takes precedence over the data folder. Remove it or set it to ${mode}, and try again.`,
    );
  if (present.by === "new folder")
    throw new SettingsError(`There is no service in ${folder} yet. Its first start chooses accounts, unless AUTH_MODE is set.`);
  if (readMark(folder) === mode) return [`The service in ${folder} is in ${mode} mode already.`];
  const settings = parseSettings(withGeneratedSecrets({ ...environment, AUTH_MODE: "accounts" }), "local");
  return asOperator(settings, async (createContext) => {
    const people = await countPeopleByIssuer(createContext());
    const lines = mode === "accounts" ? checkForth(people) : checkBack(people);
    if (mode === "accounts") {
      const { openAccounts } = await import("@board/accounts/accounts");
      await openAccounts(settings, createContext).ensureOwner();
    }
    writeMark(folder, mode);
    return lines;
  });
}

type People = ReadonlyMap<string, number>;

function checkForth(people: People): string[] {
  const elsewhere = [...people].filter(([issuer]) => issuer !== LOCAL_IDENTITY.issuer && issuer !== ACCOUNTS_ISSUER);
  if (elsewhere.length > 0)
    throw new SettingsError(
      `${toPeople(sum(elsewhere))} of this service would have no way in, because they sign in with an identity provider${toNames(elsewhere)}. Keep AUTH_MODE=oidc.`,
    );
  return [
    "People have accounts from the next start on. The shared user is the first owner, with all boards.",
    "The next start prints a link that signs in as this owner once. Programs keep using the token that they have.",
  ];
}

function checkBack(people: People): string[] {
  const others = people.get(ACCOUNTS_ISSUER) ?? 0;
  if (others > 0 && !people.has(LOCAL_IDENTITY.issuer))
    throw new SettingsError(
      `Nobody could sign in to the boards of ${toPeople(others)}, because the first owner belongs to no organization any more. Make this owner a member again first.`,
    );
  return [
    "The shared token signs in from the next start on, as the first owner.",
    ...(others > 0
      ? [
          `${toPeople(others)} cannot sign in until you run npm run accounts:migrate again; memberships, keys and passwords are kept.`,
        ]
      : []),
  ];
}

const sum = (entries: readonly (readonly [string, number])[]) => entries.reduce((total, [, count]) => total + count, 0);
const toPeople = (count: number) => (count === 1 ? "1 person" : `${count} people`);

/** Lists the identity providers. The issuer is blank in rows of early versions, which did not store it. */
function toNames(entries: readonly (readonly [string, number])[]): string {
  const names = entries.map(([issuer]) => issuer).filter(Boolean);
  return names.length === 0 ? "" : ` (${names.join(", ")})`;
}
