import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import type { JobHandler } from "../deliver.ts";
import { newJobs, type NewJob } from "../job/job.ts";
import type { BoardEvent } from "./detail.ts";

type Without<Event, Key extends keyof BoardEvent> = Event extends unknown ? Omit<Event, Key> : never;

/** An event as the noun that it happened to knows it. */
export type NewBoardEvent = Without<BoardEvent, "version" | "id" | "occurred_at" | "actor">;

/** What the job of an event carries: all but the id, which is the job's own. */
export type BoardEventPayload = Without<BoardEvent, "id">;

/** The jobs that publish events, still to be stored with what they tell of: none where BOARD_EVENTS is off. */
export function toBoardEvents(ctx: Context, events: readonly NewBoardEvent[]): NewJob[] {
  if (!ctx.settings.board_events) return [];
  const facts = { version: 1, occurred_at: ctx.now().toISOString(), actor: causeOf(ctx.actor) } as const;
  return events.map((event) => ({
    kind: "event.publish",
    payload: { ...facts, ...event },
    options: { organization_id: event.organization_id },
  }));
}

/** The insert of the same, for `writeTogether`: one however many, and none for none. */
export function newBoardEvents(ctx: Context, events: readonly NewBoardEvent[]) {
  const jobs = toBoardEvents(ctx, events);
  return jobs.length > 0 ? [newJobs(ctx, jobs)] : [];
}

function causeOf(actor: Actor): BoardEvent["actor"] {
  if (actor.type === "user") return { type: "user", id: actor.user_id };
  if (actor.type === "agent") return { type: "agent", id: actor.agent_id };
  return { type: "system", id: null };
}

/** Hands an event to the bus, as it was when it happened. In no lane: one that is not taken holds up no other. */
export const publishBoardEvent: JobHandler<"event.publish"> = {
  run: (ctx, payload, { id }) => ctx.bus.publish({ ...payload, id }),
};
