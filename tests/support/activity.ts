import { rowsOf } from "@board/core/db/database";
import { activity_counts, activity_day_counts, activity_events } from "@board/core/schema/all-tables";
import { and, asc, eq, like, sql } from "drizzle-orm";
import type { World } from "./world.ts";

export type EventRow = typeof activity_events.$inferSelect;
type Fields = Partial<typeof activity_events.$inferInsert>;

/** Stores activity events with a given time. */
export const addEvents = (
  { db }: Pick<World, "db">,
  { organization_id }: { organization_id: string },
  events: readonly Fields[],
): Promise<EventRow[]> =>
  db
    .insert(activity_events)
    .values(events.map((fields) => ({ organization_id, event_type: "task.updated", message: "Something", ...fields })))
    .returning();

/** Returns the events whose columns have the given values, in the order of their creation. In a type, `%` stands for any text. */
export const listEvents = (
  { db }: Pick<World, "db">,
  { event_type = "%", ...columns }: { [Column in "event_type" | `${"organization" | "board" | "agent" | "task"}_id`]?: string },
): Promise<EventRow[]> =>
  db
    .select()
    .from(activity_events)
    .where(
      and(
        like(activity_events.event_type, event_type),
        ...Object.entries(columns).map(([name, id]) => eq(activity_events[name as keyof typeof columns], id)),
      ),
    )
    .orderBy(asc(activity_events.seq));

/** Deletes all activity events and their counts. */
export async function clearLog({ db }: Pick<World, "db">): Promise<void> {
  await db.delete(activity_events);
  await db.delete(activity_counts);
  await db.delete(activity_day_counts);
}

/** Counts the events of boards in intervals from the log alone, without the stored counts. */
export async function countFromLog({ db }: Pick<World, "db">, board_ids: readonly string[], edges: readonly Date[]) {
  const times = sql`${sql.param(edges.map((edge) => edge.toISOString()))}::timestamptz[]`;
  const result = await db.execute(sql`
    select count(event.id)::int as events, count(event.id) filter (where right(event.event_type, 6) = 'failed')::int as failed
    from generate_series(1, ${edges.length - 1}::int) as part(place)
    left join ${activity_events} as event on event.board_id = any(${sql.param([...board_ids])}::uuid[])
      and event.created_at >= (${times})[place] and event.created_at < (${times})[place + 1]
    group by place order by place`);
  return rowsOf<{ events: number; failed: number }>(result);
}

/**
 * Returns random times between two times, in order. Every second time is rounded down to the hour, so it may be before `from`.
 */
export function randomEdges(from: Date, to: Date, count: number): Date[] {
  const hour = 3_600_000;
  const random = () => from.getTime() + Math.floor(Math.random() * (to.getTime() - from.getTime()));
  const edges = Array.from({ length: count }, (_, index) => (index % 2 ? random() : Math.floor(random() / hour) * hour));
  return edges.toSorted((a, b) => a - b).map((edge) => new Date(edge));
}
