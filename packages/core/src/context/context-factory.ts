import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { createScopedLog, type Log } from "../values/log.ts";
import { createPendingWakeups } from "./pending-wakeups.ts";

/** What all contexts of a process share. */
export interface SharedServices
  extends Pick<Context, "db" | "gateways" | "http" | "bus" | "bodies" | "settings" | "now" | "meter"> {
  readonly log: Log;
}

/**
 * Returns a function that creates the context of one unit of work: a request, a message of the queue, or a scheduled run.
 * It has no trace yet and no pending wake-ups. `services` is read at every call, so getters may change over time.
 */
export const createContextFactory =
  (services: SharedServices) =>
  <A extends Actor>(actor: A): Context<A> => ({
    ...services,
    actor,
    log: createScopedLog(services.log),
    trace_id: null,
    pendingWakeups: createPendingWakeups(),
    limits: new Map(),
  });
