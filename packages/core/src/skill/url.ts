import { isIP } from "node:net";
import * as z from "zod";
import { bareHost } from "../address.ts";
import { cut } from "../text.ts";
import { MAX_NAME, MAX_URL, NonEmpty, oneLine, rule } from "../wire.ts";

const HOST = "github.com";
const DEFAULT_BRANCH = "main";

/** Where a skill is to be had: https, at a host with a name. Agents fetch it, so that nothing inside of a network may be named. */
export const SkillUrl = NonEmpty(MAX_URL).refine(isSkillUrl, rule("source_url must be https, with the name of a public host"));

function isSkillUrl(text: string): boolean {
  const url = /^https:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  if (!url || url.username !== "" || url.password !== "") return false;
  const host = bareHost(url.hostname);
  return host !== "" && isIP(host) === 0 && host !== "localhost" && !host.endsWith(".localhost");
}

/** A repository of the code host, as packs are kept: no closing slash, no `.git`. */
export const PackUrl = NonEmpty(MAX_URL).transform((text, ctx) => {
  const { problem, url } = readPackUrl(text);
  if (problem !== undefined) ctx.issues.push({ code: "custom", message: `Value error, ${problem}`, input: text });
  return url ?? z.NEVER;
});

function readPackUrl(text: string): { url: string; problem?: never } | { url?: never; problem: string } {
  if (!/^https:\/\//i.test(text)) return { problem: "source_url must use https" };
  const url = URL.parse(text);
  if (!url || url.host !== HOST || url.username !== "" || url.password !== "")
    return { problem: `source_url host is not allowed: it must be ${HOST}` };
  const path = url.pathname.replace(/\/+$/, "").replace(/\.git$/, "");
  if (!/^(\/[A-Za-z0-9._-]+){2}$/.test(path) || url.search !== "" || url.hash !== "")
    return { problem: `source_url must be https://${HOST}/<owner>/<repository>` };
  return { url: url.origin + path };
}

/** Another branch than one that can be named safely is the usual one. */
export function toBranch(text: string | null): string {
  const branch = text?.trim() ?? "";
  const isSafe = /^[A-Za-z0-9._/-]+$/.test(branch) && !branch.includes("..") && !branch.startsWith("-");
  return isSafe && branch.length <= MAX_NAME ? branch : DEFAULT_BRANCH;
}

/** What a url without a name is called: its last part in words. */
export function nameOfUrl(text: string): string {
  const url = new URL(text);
  const last = url.pathname.split("/").findLast((part) => part !== "") ?? url.hostname;
  const words = decoded(last)
    .replace(/\.git$/i, "")
    .replace(/[-_]/g, " ");
  return cut(oneLine(words).replace(/\s+/g, " "), MAX_NAME) || "Skill";
}

/** Without percent signs where they stand for something; else as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
