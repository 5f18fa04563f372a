import type { MiddlewareHandler } from "hono";

const METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
const EXPOSED = "X-Total-Count, X-Limit, X-Offset, X-Request-Id, Retry-After";
const PREFLIGHT_SECONDS = 600;

/**
 * CORS for the listed origins, including errors and streams; without a list no header is sent. Not hono/cors, because
 * preflights answer 200 or 400 with fixed texts (docs/reference/conventions.md#cors).
 */
export const cors =
  (origins: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    if (origins.length === 0) return next();
    const origin = c.req.header("origin");
    const allowed = origin !== undefined && origins.includes(origin);
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
