import { sql } from "drizzle-orm";
import { countedEvents, countNewEvents } from "../activity/counted-events.ts";
import { memoPerApp } from "../context/app-memo.ts";
import type { Context } from "../context/context.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";
import { createCoalescer } from "../values/coalesce.ts";
import { errorText } from "../values/log.ts";
import { countedTransitions, countNewTransitions } from "./counted-transitions.ts";

/**
 * Above this number of uncounted rows, a request counts them itself, although a schedule does so every few minutes. Reading a
 * thousand uncounted rows takes 2 to 5 ms.
 */
const LONG_BACKLOG = sql.raw("1000");
/** A request counts at most 20,000 rows. The schedule counts the rest. */
const MAX_BATCHES = 4;

const runs = memoPerApp(createCoalescer<void>);

/** Whether many events or status changes of tasks (of all boards together) are not counted yet. */
export const hasLongBacklog = sql`(
  exists (select 1 from ${activity_events} as event where ${countedEvents.isUncounted} offset ${LONG_BACKLOG})
  or exists (select 1 from ${task_transitions} as move where ${countedTransitions.isUncounted} offset ${LONG_BACKLOG}))`;

/**
 * Counts new events and status changes of tasks, so that neither this request nor later ones have to read many of them one by one.
 */
export async function countBacklog(ctx: Context): Promise<void> {
  await runs(ctx).run("counts", async () => {
    try {
      const system = { ...ctx, actor: { type: "system" as const } };
      await countNewEvents(system, MAX_BATCHES);
      await countNewTransitions(system, MAX_BATCHES);
    } catch (error) {
      // The metrics are right even without counting, for example while the database accepts no writes.
      ctx.log.warn("metrics.not_counted", errorText(error));
    }
  });
}
