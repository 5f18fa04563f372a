import { sql } from "drizzle-orm";
import { agents } from "../schema/agent.sql.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { organizations, users } from "../schema/organization.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { placeholders, preparedQuery } from "../db/prepared.ts";
import { type PreparedWrite, prepareRowsInsert } from "../db/prepared-write.ts";
import type { EventFields, EventType, NewActivityEvent } from "./event-type.ts";

export type EventRow = typeof activity_events.$inferSelect;

const EVENT_COLUMNS = ["event_type", "organization_id", "message", "board_id", "task_id", "agent_id", "user_id", "tags"] as const;

/** Builds the insert of one event. `eventValues` creates the values of its placeholders. */
export const insertEventRow = (db: Db) =>
  db
    .insert(activity_events)
    .values({ ...placeholders(EVENT_COLUMNS), anchor: sql`${sql.placeholder("anchor")}::jsonb` })
    .returning();

export const eventValues = ({ anchor, ...event }: NewActivityEvent) => ({
  ...NO_REFERENCES,
  ...event,
  anchor: anchor ? JSON.stringify(anchor) : null,
});
const NO_REFERENCES = { board_id: null, task_id: null, agent_id: null, user_id: null, tags: null };

const insertOne = preparedQuery(insertEventRow);

/** Writes an event to the activity log. Call it in the transaction of the change that caused the event. */
export async function recordEvent(ctx: Context, event_type: EventType, event: EventFields): Promise<EventRow> {
  const [row] = await insertOne(ctx.db).execute(eventValues({ ...event, event_type }));
  return row!;
}

/** Builds the insert of one or more events, for `runBatch`. Streams show the events in the order of the list. */
export const insertEvents: (events: readonly NewActivityEvent[]) => PreparedWrite = prepareRowsInsert(
  "events",
  activity_events,
  EVENT_COLUMNS,
);

/**
 * Writes the event of a finished job. Nothing is written if its organization or board was removed. The id of a removed task,
 * agent or user becomes null. The rows are locked first, in the order in which removals lock them, because a failed foreign key
 * would roll back the transaction that ends the job.
 */
export async function recordLateEvent(ctx: Context, event_type: EventType, event: EventFields): Promise<void> {
  const { organization_id, message, board_id = null, task_id = null, agent_id = null, user_id = null } = event;
  await ctx.db.execute(sql`
    with organization as materialized (
      select id from ${organizations} where id = ${organization_id} for key share
    ), board as materialized (
      select id from ${boards} where id = ${board_id}::uuid and exists (select 1 from organization) for key share
    )
    insert into ${activity_events} (event_type, organization_id, message, board_id, task_id, agent_id, user_id)
    select ${event_type}, organization.id, ${message}, ${board_id}::uuid,
      (select id from ${tasks} where id = ${task_id}::uuid for key share),
      (select id from ${agents} where id = ${agent_id}::uuid for key share),
      (select id from ${users} where id = ${user_id}::uuid for key share)
    from organization
    where ${board_id}::uuid is null or exists (select 1 from board)`);
}
