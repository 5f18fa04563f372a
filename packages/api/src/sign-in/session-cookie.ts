import type { Settings } from "@board/core/config/settings";
import { DomainError } from "@board/core/values/errors";

/** The name of a session's cookie, with the prefix that browsers require for https. */
const NAME = /(?:^|;\s*)((?:__Secure-)?board\.session_token=[^;\s]{1,500})/;

/** Returns the cookie of a session as a credential. It contains a space, so it cannot be confused with a bearer token. */
export function sessionCookie(headers: Headers): string | undefined {
  const cookie = NAME.exec(headers.get("cookie") ?? "")?.[1];
  return cookie === undefined ? undefined : `cookie ${cookie}`;
}

/**
 * Throws if a page of another site changes something with the cookie of a session. Browsers send the origin with every write.
 * Programs send no origin, and use tokens instead of the cookie.
 */
export function requireOwnOrigin(method: string, headers: Headers, { auth, cors_origins, service_url }: Settings): void {
  if (auth.mode !== "accounts" || method === "GET" || method === "HEAD") return;
  if (headers.has("authorization") || headers.has("x-agent-token") || sessionCookie(headers) === undefined) return;
  if (!isOwnOrigin(headers.get("origin"), { cors_origins, service_url })) throw foreignOrigin();
}

/**
 * Throws if a page of another site signs its visitor in or out, or changes the account. This also applies without a session:
 * otherwise the page could sign its visitor in to the account of another person.
 */
export function requireOwnSignIn(method: string, headers: Headers, settings: Settings): void {
  if (method === "GET") return;
  const origin = headers.get("origin");
  if (origin === null && sessionCookie(headers) === undefined) return;
  if (!isOwnOrigin(origin, settings)) throw foreignOrigin();
}

const foreignOrigin = () => new DomainError("forbidden", "Only pages of this service may use the session. Programs send a key.");

const isOwnOrigin = (
  origin: string | null,
  { cors_origins, service_url }: Pick<Settings, "cors_origins" | "service_url">,
): boolean =>
  origin !== null &&
  (origin === new URL(service_url).origin || cors_origins.includes(origin) || isOwnLoopback(origin, service_url));

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]", "0.0.0.0"]);

/** Returns whether both addresses are the same service on this machine, which can be reached under several host names. */
function isOwnLoopback(origin: string, service_url: string): boolean {
  if (!URL.canParse(origin)) return false;
  const [page, own] = [new URL(origin), new URL(service_url)];
  return page.port === own.port && page.protocol === own.protocol && LOOPBACK.has(page.hostname) && LOOPBACK.has(own.hostname);
}
