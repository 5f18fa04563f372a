import type { LimitStatus } from "@board/core/values/request-limits";
import type { MiddlewareHandler } from "hono";
import type { Env } from "../runtime.ts";

/** Adds headers about the limits that the request counted toward, as draft-ietf-httpapi-ratelimit-headers-11 defines them. */
export const rateLimitHeaders: MiddlewareHandler<Env> = async (c, next) => {
  await next();
  const limits = [...c.var.ctx.limits.values()];
  if (limits.length === 0) return;
  c.res.headers.set("RateLimit-Policy", limits.map(toPolicy).join(", "));
  c.res.headers.set("RateLimit", limits.map(toState).join(", "));
};

const toPolicy = ({ name, quota, unit, window_seconds }: LimitStatus): string =>
  [
    `"${name}"`,
    `q=${quota}`,
    ...(unit ? [`qu="${unit}"`] : []),
    ...(window_seconds === null ? [] : [`w=${window_seconds}`]),
  ].join(";");

const toState = ({ name, remaining, reset_seconds }: LimitStatus): string => `"${name}";r=${remaining};t=${reset_seconds}`;
