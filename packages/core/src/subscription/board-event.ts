import { toBoardAlertJobs } from "../alert/board-alerts.ts";
import { authorOf } from "../context/author.ts";
import type { Context } from "../context/context.ts";
import type { JobHandler } from "../job/handler.ts";
import { insertJobs, type NewJob } from "../job/job.ts";
import type { BoardEvent, NewBoardEvent } from "../context/event-body.ts";
import { deliveryWrites, storeDeliveries } from "./store.ts";

/** Adds the fields that all events have. */
function toBoardEvents(
  ctx: Context,
  events: readonly NewBoardEvent[],
  actor: BoardEvent["actor"] = authorOf(ctx.actor),
): BoardEvent[] {
  const occurred_at = ctx.now().toISOString();
  return events.map(({ type, ...event }) => {
    const { organization_id, board_id, ...facts } = event;
    const envelope = { version: 1, id: crypto.randomUUID(), type, occurred_at, organization_id, board_id, actor };
    return { ...envelope, ...facts } as BoardEvent;
  });
}

/** Returns the jobs that publish these events. The list is empty if BOARD_EVENTS is off. */
function toPublishJobs(ctx: Context, events: readonly BoardEvent[]): NewJob[] {
  if (!ctx.settings.board_events) return [];
  return events.map(({ id, ...payload }) => ({
    kind: "event.publish",
    payload,
    options: { id, organization_id: payload.organization_id },
  }));
}

/**
 * Stores a delivery of each event to each matching subscription, in the caller's transaction. Returns the jobs that publish the
 * events. The caller must insert them together with its own jobs. A job that stores events which somebody else caused passes
 * `actor`.
 */
export async function storeBoardEvents(
  ctx: Context,
  new_events: readonly NewBoardEvent[],
  actor?: BoardEvent["actor"],
): Promise<NewJob[]> {
  const events = toBoardEvents(ctx, new_events, actor);
  await storeDeliveries(ctx, events);
  return [...toPublishJobs(ctx, events), ...toBoardAlertJobs(events)];
}

/** Builds the writes for `runBatch` that store deliveries and publishing jobs, for any number of events and subscriptions. */
export function insertBoardEvents(ctx: Context, new_events: readonly NewBoardEvent[]) {
  const events = toBoardEvents(ctx, new_events);
  const jobs = [...toPublishJobs(ctx, events), ...toBoardAlertJobs(events)];
  return [...(jobs.length > 0 ? [insertJobs(ctx, jobs)] : []), ...deliveryWrites(ctx, events)];
}

/** Publishes an event as it was stored. The jobs for this have no lane, so that a refused event does not block later events. */
export const publishBoardEvent: JobHandler<"event.publish"> = {
  run: (ctx, payload, { id }) => ctx.bus.publish({ ...payload, id }),
};
