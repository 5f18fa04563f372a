import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { createScopedLog, type Log } from "../values/log.ts";
import { createPendingWakeups } from "./pending-wakeups.ts";

/** What the contexts of a process share. */
interface SharedServices
  extends Pick<
    Context,
    "db" | "gateways" | "http" | "bus" | "bodies" | "files" | "mail" | "settings" | "now" | "meter" | "tracer"
  > {
  readonly log: Log;
}

/**
 * Returns a function that creates the context of a request, a queue message or a scheduled run. The context has no trace id and
 * no pending wake-ups yet. `services` is read at every call, so its getters may return different values each time.
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
