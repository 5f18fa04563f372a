import path from "node:path";
import type { Settings } from "@board/core/config/settings";
import { dataFolder } from "./secrets.ts";

/** How to sign in, as a start prints it. */
export interface SignInLines {
  /** The address of the console. */
  console: string;
  /** The token or where it is, and the line that signs the command line in; null where an identity provider signs in. */
  token: string | null;
  shell: string | null;
}

/**
 * Output often ends up in logs, so only a terminal is shown a token, and only one that the service has generated, which
 * nobody knows otherwise. Other output names its file; one that was set is in no file.
 */
export function signInLines(
  url: string,
  auth: Settings["auth"],
  environment: NodeJS.ProcessEnv,
  isTerminal = process.stdout.isTTY,
): SignInLines {
  if (auth.mode !== "local") return { console: `${url}/`, token: null, shell: null };
  const login = `npx board login --url ${url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, "//127.0.0.1:")}`;
  if (environment["LOCAL_AUTH_TOKEN"]?.trim()) return { console: `${url}/`, token: "as set in LOCAL_AUTH_TOKEN", shell: login };
  const file = tokenFile(environment);
  const shell = `${login} < ${quote(file)}`;
  return isTerminal
    ? { console: `${url}/#token=${auth.token}`, token: auth.token, shell }
    : { console: `${url}/`, token: `in ${file}`, shell };
}

function tokenFile(environment: NodeJS.ProcessEnv): string {
  const file = path.join(dataFolder(environment), "secrets/local_auth_token");
  const near = path.relative(".", file);
  return near.startsWith("..") ? file : near;
}

const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
