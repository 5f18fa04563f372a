import { insertEvents } from "../activity/activity.ts";
import { insertBoardEvents } from "../subscription/board-event.ts";
import { runBatch } from "../db/batch.ts";
import { insertNotifications } from "../notification/notification.ts";
import type { TaskEffects } from "./effects.ts";
import { insertTransitions, type TaskContext } from "./transition.ts";

/** Writes the effects of a change with one statement, in the caller's transaction. Sends no statement if there are no effects. */
export async function storeEffects(ctx: TaskContext, effects: TaskEffects): Promise<void> {
  const { transitions, events, notifications, board_events } = effects;
  const writes = [
    ...insertTransitions(ctx, transitions),
    ...(events.length > 0 ? [insertEvents(events)] : []),
    ...insertNotifications(ctx, notifications),
    ...insertBoardEvents(ctx, board_events),
  ];
  if (writes.length > 0) await runBatch(ctx, writes);
}
