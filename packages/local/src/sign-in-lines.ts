import path from "node:path";
import type { Settings } from "@board/core/config/settings";
import { COMMAND_LINE } from "./command.ts";
import { dataFolder } from "./secrets.ts";

/** The instructions for signing in that a start prints. */
interface SignInLines {
  /** The address of the console. */
  console: string;
  /** The token, or a hint where to find it, and the command that signs in. Both are null with an identity provider. */
  token: string | null;
  shell: string | null;
}

/**
 * Output often ends up in logs, so a token is shown only on a terminal, and only if the service generated it. Other output names
 * the file with the token. A token from a variable is in no file and is not shown.
 */
export function signInLines(
  url: string,
  auth: Settings["auth"],
  environment: NodeJS.ProcessEnv,
  first_link: string | null,
  isTerminal = process.stdout.isTTY,
): SignInLines {
  if (auth.mode === "accounts") {
    const link = first_link !== null && isTerminal ? `#link=${first_link}` : "";
    const shell = `${LOGIN} --url ${toLocalUrl(url)} < ${quote(tokenFile(environment))}`;
    return { console: `${url}/${link}`, token: null, shell: environment["LOCAL_AUTH_TOKEN"]?.trim() ? null : shell };
  }
  if (auth.mode !== "local") return { console: `${url}/`, token: null, shell: null };
  const login = `${LOGIN} --url ${toLocalUrl(url)}`;
  if (environment["LOCAL_AUTH_TOKEN"]?.trim()) return { console: `${url}/`, token: "as set in LOCAL_AUTH_TOKEN", shell: login };
  const file = tokenFile(environment);
  const shell = `${login} < ${quote(file)}`;
  return isTerminal
    ? { console: `${url}/#token=${auth.token}`, token: auth.token, shell }
    : { console: `${url}/`, token: `in ${file}`, shell };
}

const LOGIN = `${COMMAND_LINE} login`;
const toLocalUrl = (url: string) => url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, "//127.0.0.1:");

function tokenFile(environment: NodeJS.ProcessEnv): string {
  const file = path.join(dataFolder(environment), "secrets/local_auth_token");
  const near = path.relative(".", file);
  return near.startsWith("..") ? file : near;
}

const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
