import type { Log } from "@board/core/values/log";
import type { Settings } from "@board/core/config/settings";
import type { Context as HonoContext, MiddlewareHandler } from "hono";

const METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
const EXPOSED =
  "X-Total-Count, X-Limit, X-Offset, X-Request-Id, Retry-After, ETag, Link, Idempotent-Replayed, Idempotent-Omitted, RateLimit-Policy, RateLimit, Preference-Applied";
const PREFLIGHT_SECONDS = 600;

/** The log event for a refused origin. */
export const REFUSED_ORIGIN = "cors.origin_refused";

/**
 * Handles CORS for the listed origins, also for errors and streams. Without a list, no header is sent. The middleware of
 * hono/cors is not used, because preflights are answered with 200 or 400 and fixed texts (docs/reference/conventions.md#cors).
 */
export function cors({ cors_origins: origins, base_url }: Settings, log: Log): MiddlewareHandler {
  const logRefused = createRefusalLog(log);
  const own_host = base_url === null ? null : new URL(base_url).host;
  return async (c, next) => {
    const origin = c.req.header("origin");
    const allowed = origin !== undefined && origins.includes(origin);
    if (origin !== undefined && !allowed && !isOwn(origin, c, own_host)) logRefused(origin);
    if (origins.length === 0) return next();
    const requestedMethod = c.req.header("access-control-request-method");
    if (c.req.method === "OPTIONS" && origin !== undefined && requestedMethod !== undefined) {
      c.res = allowed ? new Response("OK") : new Response("Disallowed CORS origin", { status: 400 });
      if (allowed) {
        c.res.headers.set("Access-Control-Allow-Methods", METHODS);
        c.res.headers.set("Access-Control-Max-Age", String(PREFLIGHT_SECONDS));
        const requestedHeaders = c.req.header("access-control-request-headers");
        if (requestedHeaders) c.res.headers.set("Access-Control-Allow-Headers", requestedHeaders);
      }
    } else await next();
    c.res.headers.append("Vary", "Origin");
    if (!allowed) return;
    c.res.headers.set("Access-Control-Allow-Origin", origin);
    c.res.headers.set("Access-Control-Allow-Credentials", "true");
    c.res.headers.set("Access-Control-Expose-Headers", EXPOSED);
  };
}

/** Returns whether the page comes from the service itself, because browsers send an origin with writes of such a page too. */
function isOwn(origin: string, c: HonoContext, own_host: string | null): boolean {
  const host = origin.slice(origin.indexOf("://") + 3);
  return host === own_host || host === (c.req.header("host") ?? new URL(c.req.url).host);
}

/** The form of a page's origin. Any other text is not repeated in the log. */
const PAGE_ORIGIN = /^https?:\/\/[\w.:[\]-]{1,253}$/;
/** A client can invent origins, so the number of logged origins is limited. */
const MAX_LOGGED = 20;

/** Logs each refused origin once per process. */
function createRefusalLog(log: Log): (origin: string) => void {
  const logged = new Set<string>();
  return (origin) => {
    if (logged.size >= MAX_LOGGED || logged.has(origin) || !PAGE_ORIGIN.test(origin)) return;
    logged.add(origin);
    const message = `Browsers block pages from ${origin} because CORS_ORIGINS does not list it: add it there and restart the service`;
    log.warn(REFUSED_ORIGIN, message, { origin });
  };
}
