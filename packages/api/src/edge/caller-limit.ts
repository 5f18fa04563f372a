import type { Budgets } from "@board/core/config/budgets";
import type { Role } from "@board/core/context/actor";
import { DomainError } from "@board/core/values/errors";
import { createKeyedLimiter } from "@board/core/values/concurrency";
import { usedUp } from "@board/core/values/request-limits";
import type { MiddlewareHandler } from "hono";
import { credentialOf } from "../sign-in/authenticate.ts";
import type { Env } from "../runtime.ts";

const RETRY_AFTER = 5;

const tooMany = (max_waiting: number) =>
  new DomainError("limited", "Too many requests of this caller are waiting. Try again in a few seconds.", {
    retry_after_seconds: RETRY_AFTER,
    limit: usedUp("caller_waiting_requests", max_waiting, RETRY_AFTER),
  });

/**
 * Limits how many requests of one credential run at the same time in each process, so that a caller with thousands of requests
 * leaves database connections to others. Further requests wait, and get 429 if too many are waiting. Open streams do not count.
 */
export function limitRequestsOfCaller(limits: Pick<Budgets, "caller_running_requests" | "caller_waiting_requests">) {
  const { caller_running_requests: max, caller_waiting_requests: max_waiting } = limits;
  const run = createKeyedLimiter(max, (pending) => {
    if (pending >= max + max_waiting) throw tooMany(max_waiting);
  });
  return (role: Role): MiddlewareHandler<Env> =>
    async (c, next) => {
      const key = credentialOf(c.var.ctx, role, c.req.raw.headers);
      return max === 0 || key === null ? next() : run(key, next);
    };
}
