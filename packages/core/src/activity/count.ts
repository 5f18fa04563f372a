import { is, type Placeholder, SQL, sql } from "drizzle-orm";
import type { Member } from "../context/actor.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { createStatementCache } from "../db/prepared.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { activity_counts } from "../schema/activity-count.sql.ts";
import { readableBoards } from "../organization/access.ts";
import { keyOf, preparedWhere, valuesOf } from "../lists/filter.ts";
import { countedEvents } from "./counted-events.ts";

/** The ids of boards, or a condition on `boards`. */
type BoardSelection = readonly string[] | SQL;

const boardSource = (selection: BoardSelection): SQL =>
  is(selection, SQL)
    ? sql`(select ${boards}.id from ${boards} where ${selection}) as board`
    : sql`unnest(${sql.param([...selection])}::uuid[]) as board(id)`;

/**
 * Returns a subquery of the events of a `board` that meet the condition, which an index must cover. `offset 0` keeps the planner
 * from changing the join order and reading the events of all boards of the service.
 */
export const boardEvents = (condition: SQL) => sql`(
  select event.created_at, event.event_type from ${activity_events} as event
  where event.board_id = board.id and ${condition} offset 0) as event`;

/** Counts the comments on boards. */
export async function countComments(ctx: Context, selection: BoardSelection): Promise<number> {
  const total = boardTotal(selection, sql`counts.comments`, sql`event.event_type = 'task.comment'`);
  return toTotal(await ctx.db.execute(selectTotal(total)));
}

/**
 * Counts the events of boards. If `boardless_organization_id` is set, it also counts the events of that organization without a
 * board.
 */
export async function countActivity(
  ctx: Context,
  selection: BoardSelection,
  boardless_organization_id: string | null,
): Promise<number> {
  return toTotal(await ctx.db.execute(selectActivityTotal(selection, boardless_organization_id)));
}

const statements = createStatementCache<unknown>();

/**
 * Counts the events on boards that a member may read. With `boardless`, it also counts the organization's events without a board.
 */
export async function countReadableActivity(ctx: Context, actor: Member, { boardless }: { boardless: boolean }): Promise<number> {
  const filters = [readableBoards(actor)];
  const statement = statements.get(`${keyOf(filters)}/${boardless}`, () =>
    selectActivityTotal(preparedWhere(filters), boardless ? sql.placeholder("organization_id") : null),
  );
  const { organization_id } = actor.active;
  return toTotal(await statement.execute(ctx.db, { ...valuesOf(filters), organization_id }));
}

function selectActivityTotal(selection: BoardSelection, boardless_organization_id: string | Placeholder | null): SQL {
  const boardCount = boardTotal(selection, sql`counts.events`, sql`true`);
  const boardlessCount = sql`(select count(*) from ${activity_events} where organization_id = ${boardless_organization_id} and board_id is null)`;
  return selectTotal(boardless_organization_id === null ? boardCount : sql`${boardCount} + ${boardlessCount}`);
}

const boardTotal = (selection: BoardSelection, counted: SQL, condition: SQL) => sql`(
  select coalesce(sum((
    select ${counted} from ${activity_counts} as counts where counts.board_id = board.id and counts.hour = '-infinity')), 0)
  from ${boardSource(selection)}) + (
  select count(*) from ${boardSource(selection)} cross join lateral ${boardEvents(countedEvents.isUncounted)} where ${condition})`;

const selectTotal = (total: SQL) => sql`select (${total})::int as total`;
const toTotal = (result: unknown) => rowsOf<{ total: number }>(result)[0]!.total;
