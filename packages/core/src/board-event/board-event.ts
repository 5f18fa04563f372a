import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import type { JobHandler } from "../job/handler.ts";
import { insertJobs, type NewJob } from "../job/job.ts";
import type { BoardEvent, NewBoardEvent } from "../event-bus/board-event.ts";

/** The jobs that publish these events; the caller stores them together with the change. Empty when BOARD_EVENTS is off. */
export function toBoardEventJobs(ctx: Context, events: readonly NewBoardEvent[]): NewJob[] {
  if (!ctx.settings.board_events) return [];
  const envelope = { version: 1, occurred_at: ctx.now().toISOString(), actor: toEventActor(ctx.actor) } as const;
  return events.map((event) => ({
    kind: "event.publish",
    payload: { ...envelope, ...event },
    options: { organization_id: event.organization_id },
  }));
}

/** The insert of those jobs, to be run in a batch: one statement for any number of events, or no statement. */
export function insertBoardEvents(ctx: Context, events: readonly NewBoardEvent[]) {
  const jobs = toBoardEventJobs(ctx, events);
  return jobs.length > 0 ? [insertJobs(ctx, jobs)] : [];
}

function toEventActor(actor: Actor): BoardEvent["actor"] {
  if (actor.type === "user") return { type: "user", id: actor.user_id };
  if (actor.type === "agent") return { type: "agent", id: actor.agent_id };
  return { type: "system", id: null };
}

/** Publishes an event as it was when it happened. These jobs have no lane, so a refused event does not block others. */
export const publishBoardEvent: JobHandler<"event.publish"> = {
  run: (ctx, payload, { id }) => ctx.bus.publish({ ...payload, id }),
};
