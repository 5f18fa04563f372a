import path from "node:path";
import { dataFolder } from "./secrets.ts";

/** The line that signs the command line in to this service. A token that was set is in no file, so it is asked for. */
export function signInLine(url: string, environment: NodeJS.ProcessEnv): string {
  const line = `npx board login --url ${url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, "//127.0.0.1:")}`;
  if (environment["LOCAL_AUTH_TOKEN"]?.trim()) return line;
  const file = path.join(dataFolder(environment), "secrets/local_auth_token");
  const near = path.relative(".", file);
  return `${line} < ${quote(near.startsWith("..") ? file : near)}`;
}

const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
