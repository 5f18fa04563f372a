import { errorText } from "@board/core/log";
import type { OidcAuth, Settings } from "@board/core/settings";
import { parseSitemap } from "@board/core/soul/sitemap";
import { readBody, type Web } from "@board/core/web/web";
import { type Finding, judgeClock, ok, some, warning, wrong } from "./finding.ts";

const PATIENCE_MS = 5_000;

/** Whether tokens of the issuer can be checked. */
export async function checkIssuer({ auth }: Pick<Settings, "auth">): Promise<Finding[]> {
  if (auth.mode === "local") return [];
  const check = "sign-in";
  const host = new URL(auth.jwks_url).host;
  const remedy = "See that OIDC_ISSUER is the issuer's address, or set OIDC_JWKS_URL to that of its keys.";
  try {
    const { keys, ahead_ms } = await readKeys(auth);
    const clock = ahead_ms === null ? null : judgeClock(check, ahead_ms, 1_000);
    if (keys === 0) return [wrong(check, `${host} names no keys`, remedy)];
    return [ok(check, `${host} names ${some(keys, "key")}`), ...(clock ? [clock] : [])];
  } catch (error) {
    return [wrong(check, `the keys of ${host} cannot be read: ${errorText(error)}`, remedy)];
  }
}

async function readKeys({ jwks_url }: OidcAuth): Promise<{ keys: number; ahead_ms: number | null }> {
  const answer = await fetch(jwks_url, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: "manual" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const { keys } = (await answer.json()) as { keys?: unknown };
  const date = Date.parse(answer.headers.get("date") ?? "");
  // The header has whole seconds, cut off.
  return { keys: Array.isArray(keys) ? keys.length : 0, ahead_ms: Number.isNaN(date) ? null : date + 500 - Date.now() };
}

const LIMITS = { connect_ms: PATIENCE_MS, total_ms: 15_000, max_bytes: 1_048_576 };

/** Whether the remote directory of souls has something to offer. */
export async function checkSouls({ souls_directory_url }: Pick<Settings, "souls_directory_url">, web: Web): Promise<Finding[]> {
  if (souls_directory_url === null) return [];
  const check = "souls";
  const { host } = new URL(souls_directory_url);
  const remedy = "See that SOULS_DIRECTORY_URL has a /sitemap.xml, or unset it for the built-in directory.";
  try {
    const answer = await web.get(`${souls_directory_url}/sitemap.xml`, LIMITS);
    const text = new TextDecoder().decode(await readBody(answer));
    const names = answer.status === 200 ? parseSitemap(text, souls_directory_url) : null;
    if (names === null) return [wrong(check, `${host} has no sitemap (status ${answer.status})`, remedy)];
    return names.length === 0
      ? [warning(check, `${host} names no souls`, remedy)]
      : [ok(check, `${host} names ${some(names.length, "soul")}`)];
  } catch (error) {
    return [wrong(check, errorText(error), remedy)];
  }
}

/** The queues that the environment names, each with its dead letters. */
export async function checkQueues(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const named = ["DELIVERIES_QUEUE_URL", "SYNCS_QUEUE_URL"].flatMap((name) => {
    const url = environment[name]?.trim();
    return url ? [{ name, url }] : [];
  });
  return (await Promise.all(named.map(checkQueue))).flat();
}

async function checkQueue({ name, url }: { name: string; url: string }): Promise<Finding[]> {
  const check = `queue ${url.split("/").at(-1)}`;
  if (!URL.canParse(url)) return [wrong(check, `${name} is no URL`, `Set ${name} to the URL of the queue.`)];
  try {
    // The AWS SDK is loaded by those alone who have queues.
    const { readQueueState } = await import("@board/functions/queue-state");
    const { ready, in_flight, delayed, dead_letters } = await readQueueState(url);
    const found = `${ready} waiting, ${in_flight} being worked on, ${delayed} put off`;
    if (dead_letters === null)
      return [warning(check, `${found}; it has no dead-letter queue`, "Deploy again: every queue of the service has one.")];
    if (dead_letters > 0)
      return [warning(check, `${found}; ${some(dead_letters, "dead letter")}`, 'Follow docs/operating.md, "Dead letters".')];
    return [ok(check, `${found}, no dead letters`)];
  } catch (error) {
    const remedy = `See that ${name} is right, and that AWS credentials of this shell may read the queue's attributes (sqs:GetQueueAttributes).`;
    return [wrong(check, `it cannot be looked at: ${errorText(error)}`, remedy)];
  }
}
