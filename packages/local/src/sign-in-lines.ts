import path from "node:path";
import type { Settings } from "@board/core/config/settings";
import { COMMAND_LINE } from "./command.ts";
import { dataFolder, ownerLinkFile } from "./secrets.ts";

/** The instructions for signing in that a start prints. */
interface SignInLines {
  /** The address of the console. */
  console: string;
  /** Where to find the link that signs in as the owner; null if `console` already is that link, or if there is no link. */
  link: string | null;
  /** The token, or a hint where to find it, and the command that signs in. Both are null with an identity provider. */
  token: string | null;
  shell: string | null;
}

type Auth = Pick<Settings, "auth" | "base_url">;

/**
 * Returns the instructions. Output often ends up in logs, so a generated token is shown only on a terminal. Other output names
 * the file with the token. A token from a variable is never shown.
 */
export function signInLines(
  url: string,
  { auth, base_url }: Auth,
  environment: NodeJS.ProcessEnv,
  first_link: string | null,
  isTerminal = process.stdout.isTTY,
): SignInLines {
  if (auth.mode === "oidc") return { console: `${url}/`, link: null, token: null, shell: null };
  const login = `${LOGIN} --url ${toLocalUrl(url)}`;
  const isGiven = Boolean(environment["LOCAL_AUTH_TOKEN"]?.trim());
  const file = near(path.join(dataFolder(environment), "secrets/local_auth_token"));
  const shell = isGiven ? login : `${login} < ${quote(file)}`;
  const token = isGiven ? "as set in LOCAL_AUTH_TOKEN" : `in ${file}`;
  if (auth.mode === "accounts") {
    // The session cookie is valid only for the public address, so people must open the page there.
    const page = `${base_url ?? toLocalUrl(url)}/`;
    const isShown = first_link !== null && isTerminal;
    const link = first_link === null || isShown ? null : `in ${near(ownerLinkFile(environment))}`;
    return { console: isShown ? toOwnerLink({ base_url }, url, first_link) : page, link, token, shell };
  }
  return isTerminal && !isGiven
    ? { console: `${url}/#token=${auth.token}`, link: null, token: auth.token, shell }
    : { console: `${url}/`, link: null, token, shell };
}

export const toOwnerLink = ({ base_url }: Pick<Settings, "base_url">, url: string, link: string): string =>
  `${base_url ?? toLocalUrl(url)}/#link=${link}`;

const LOGIN = `${COMMAND_LINE} login`;
const toLocalUrl = (url: string) => url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, "//127.0.0.1:");

/** Returns the path relative to the current folder if the file is below it, so that it is short to type. */
function near(file: string): string {
  const relative = path.relative(".", file);
  return relative.startsWith("..") ? file : relative;
}

const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
