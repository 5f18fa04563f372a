import { isIP } from "node:net";
import * as z from "zod";
import { normalizeHost } from "../dns/address.ts";
import { trimEndOf, truncate } from "../values/text.ts";
import { MAX_NAME, MAX_URL, NonEmpty, oneLine, isValidSoFar, valueError } from "../values/wire.ts";

const CODE_HOST = "github.com";
const DEFAULT_BRANCH = "main";

/** The URL of a skill. It must be https and have a host name, not an IP address, because agents in private networks fetch it. */
export const SkillUrl = NonEmpty(MAX_URL).refine(isSkillUrl, {
  ...valueError("source_url must be https, with the name of a public host"),
  when: isValidSoFar,
});

function isSkillUrl(text: string): boolean {
  const url = /^https:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  if (!url || url.username !== "" || url.password !== "") return false;
  const host = normalizeHost(url.hostname);
  return host !== "" && isIP(host) === 0 && host !== "localhost" && !host.endsWith(".localhost");
}

/** The URL of a repository on the code host, normalized without a trailing slash or `.git`. */
export const PackUrl = NonEmpty(MAX_URL).transform((text, ctx) => {
  const { problem, url } = readPackUrl(text);
  if (problem !== undefined) ctx.issues.push({ code: "custom", message: `Value error, ${problem}`, input: text });
  return url ?? z.NEVER;
});

function readPackUrl(text: string): { url: string; problem?: never } | { url?: never; problem: string } {
  if (!/^https:\/\//i.test(text)) return { problem: "source_url must use https" };
  const url = URL.parse(text);
  if (!url || url.host !== CODE_HOST || url.username !== "" || url.password !== "")
    return { problem: `source_url host is not allowed: it must be ${CODE_HOST}` };
  const path = trimEndOf(url.pathname, "/").replace(/\.git$/, "");
  if (!/^(\/[A-Za-z0-9._-]+){2}$/.test(path) || url.search !== "" || url.hash !== "")
    return { problem: `source_url must be https://${CODE_HOST}/<owner>/<repository>` };
  return { url: url.origin + path };
}

/** Returns the branch, or the default branch if the name is not safe in a URL. */
export function toBranch(text: string | null): string {
  const branch = text?.trim() ?? "";
  const isSafe = /^[A-Za-z0-9._/-]+$/.test(branch) && !branch.includes("..") && !branch.startsWith("-");
  return isSafe && branch.length <= MAX_NAME ? branch : DEFAULT_BRANCH;
}

/** Derives a name from the last segment of a URL's path. */
export function nameFromUrl(text: string): string {
  const url = new URL(text);
  const lastSegment = url.pathname.split("/").findLast((part) => part !== "") ?? url.hostname;
  const words = decodeUriOrKeep(lastSegment)
    .replace(/\.git$/i, "")
    .replace(/[-_]/g, " ");
  return truncate(oneLine(words).replace(/\s+/g, " "), MAX_NAME) || "Skill";
}

/** Decodes percent-encoding. A string with invalid encoding is returned unchanged. */
export function decodeUriOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
