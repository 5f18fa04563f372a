import { toQueueUrls } from "@board/functions/environment";
import { errorText } from "@board/core/values/log";
import { acceptsAnyAudience, type OidcAuth, type Settings } from "@board/core/config/settings";
import { parseSitemap } from "@board/openclaw/soul/sitemap";
import { readBody, type HttpClient } from "@board/core/context/http-client";
import { type Finding, checkClock, ok, pluralize, warning, wrong } from "./finding.ts";

const TIMEOUT_MS = 5_000;

/**
 * Checks that the keys for verifying tokens can be read, and that the settings restrict the audience of tokens and who may sign
 * in.
 */
export async function checkIssuer({ auth }: Pick<Settings, "auth">): Promise<Finding[]> {
  if (auth.mode !== "oidc") return [];
  return [...(await checkKeys(auth)), ...checkAudience(auth), ...checkEmails(auth)];
}

function checkAudience(auth: OidcAuth): Finding[] {
  if (auth.audience !== null) return [];
  const remedy = "Set OIDC_AUDIENCE to the audience of this service at the issuer";
  const findings = [
    warning("sign-in", "tokens of people are refused at /mcp, because their audience is not checked", `${remedy}.`),
  ];
  if (!acceptsAnyAudience(auth)) return findings;
  const found = "any token of the issuer is accepted, even one that was issued for another service";
  return [...findings, warning("sign-in", found, `${remedy}, or OIDC_AUTHORIZED_PARTIES to its clients.`)];
}

const checkEmails = ({ require_verified_email }: OidcAuth): Finding[] =>
  require_verified_email
    ? []
    : [
        warning(
          "sign-in",
          "e-mail addresses are trusted even when the issuer does not say that it verified them",
          "Let the issuer send email_verified and unset OIDC_REQUIRE_VERIFIED_EMAIL, unless it verifies all addresses: a person can accept the invites of a trusted address.",
        ),
      ];

async function checkKeys(auth: OidcAuth): Promise<Finding[]> {
  const check = "sign-in";
  const host = new URL(auth.jwks_url).host;
  const remedy = "Check that OIDC_ISSUER is the URL of the issuer, or set OIDC_JWKS_URL to the URL of its keys.";
  try {
    const { keys, ahead_ms } = await readKeys(auth);
    const clock = ahead_ms === null ? null : checkClock(check, ahead_ms, 1_000);
    if (keys === 0) return [wrong(check, `${host} has no keys`, remedy)];
    return [ok(check, `${host} has ${pluralize(keys, "key")}`), ...(clock ? [clock] : [])];
  } catch (error) {
    return [wrong(check, `the keys of ${host} cannot be read: ${errorText(error)}`, remedy)];
  }
}

async function readKeys({ jwks_url }: OidcAuth): Promise<{ keys: number; ahead_ms: number | null }> {
  const answer = await fetch(jwks_url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "manual" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const { keys } = (await answer.json()) as { keys?: unknown };
  const date = Date.parse(answer.headers.get("date") ?? "");
  // The Date header is truncated to seconds, so half a second, the average error, is added.
  return { keys: Array.isArray(keys) ? keys.length : 0, ahead_ms: Number.isNaN(date) ? null : date + 500 - Date.now() };
}

const LIMITS = { connect_ms: TIMEOUT_MS, total_ms: 15_000, max_bytes: 1_048_576 };

/** Checks that the remote souls directory can be read and is not empty. */
export async function checkSouls(
  { souls_directory_url }: Pick<Settings, "souls_directory_url">,
  web: HttpClient,
): Promise<Finding[]> {
  if (souls_directory_url === null) return [];
  const check = "souls";
  const { host } = new URL(souls_directory_url);
  const remedy = "Check that SOULS_DIRECTORY_URL has a /sitemap.xml, or unset it to use the built-in directory.";
  try {
    const answer = await web.get(`${souls_directory_url}/sitemap.xml`, LIMITS);
    const text = new TextDecoder().decode(await readBody(answer));
    const names = answer.status === 200 ? parseSitemap(text, souls_directory_url) : null;
    if (names === null) return [wrong(check, `${host} has no sitemap (status ${answer.status})`, remedy)];
    return names.length === 0
      ? [warning(check, `${host} lists no souls`, remedy)]
      : [ok(check, `${host} lists ${pluralize(names.length, "soul")}`)];
  } catch (error) {
    return [wrong(check, errorText(error), remedy)];
  }
}

/** Checks the queues of the environment and their dead-letter queues. */
export async function checkQueues(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const text = environment["QUEUE_URLS"]?.trim();
  const queues = text ? Object.entries(toQueueUrls(text)) : [];
  return (await Promise.all(queues.map(([name, url]) => checkQueue(name, url)))).flat();
}

async function checkQueue(name: string, url: string): Promise<Finding[]> {
  const check = `queue ${url.split("/").at(-1)}`;
  if (!URL.canParse(url))
    return [wrong(check, `QUEUE_URLS has no URL for ${name}`, "Set QUEUE_URLS to name=URL, comma-separated.")];
  try {
    // The AWS SDK is loaded only if there are queues.
    const { readQueueState } = await import("@board/functions/queue-state");
    const { ready, in_flight, delayed, dead_letters } = await readQueueState(url);
    const found = `${ready} waiting, ${in_flight} in flight, ${delayed} delayed`;
    if (dead_letters === null)
      return [
        warning(check, `${found}; it has no dead-letter queue`, "Deploy again: the deployment creates one for every queue."),
      ];
    if (dead_letters > 0)
      return [warning(check, `${found}; ${pluralize(dead_letters, "dead letter")}`, 'Follow docs/operating.md, "Dead letters".')];
    return [ok(check, `${found}, no dead letters`)];
  } catch (error) {
    const remedy = `Check that QUEUE_URLS is right, and that the AWS credentials of this shell may read the queue's attributes (sqs:GetQueueAttributes).`;
    return [wrong(check, `the queue cannot be read: ${errorText(error)}`, remedy)];
  }
}
