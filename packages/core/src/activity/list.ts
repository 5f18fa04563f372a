import { and, desc, eq, getTableColumns, inArray, isNotNull, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import * as z from "zod";
import { readableBoards } from "../access.ts";
import type { Agent, Member } from "../actor.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { type Page, type PageQuery, readPageAndCount } from "../page.ts";
import { Id, Instant } from "../wire.ts";
import { activity_events } from "./activity.sql.ts";
import { countListed } from "./count.ts";

export const Activity = z
  .object({
    id: Id.describe("Id of the event."),
    event_type: z.string().describe("What happened; types that end with `failed` are errors."),
    action: z.enum(["created", "updated", "deleted"]).describe("The same in a word."),
    message: z.string().nullable().describe("What happened, in words; of a comment its text."),
    board_id: Id.nullable().describe("Board that it happened on."),
    task_id: Id.nullable().describe("Task that it is about; null once the task is removed."),
    agent_id: Id.nullable().describe("Agent that did it, or that it is about."),
    user_id: Id.nullable().describe("Person who did it."),
    actor_id: Id.nullable().describe("The agent, else the person."),
    created_at: Instant.describe("When it happened."),
    route_name: z.enum(["board", "board.approvals", "activity"]).describe("Page of the dashboard that shows it."),
    route_params: z.record(z.string(), z.string()).describe("What that page is opened with."),
  })
  .meta({ id: "ActivityEvent", description: "Something that happened, in the activity log." });
export type Activity = z.infer<typeof Activity>;

const { id, event_type, message, board_id, task_id, agent_id, user_id, created_at } = getTableColumns(activity_events);
const columns = { id, event_type, message, board_id, task_id, agent_id, user_id, created_at };
type Row = Pick<typeof activity_events.$inferSelect, keyof typeof columns>;

const newestFirst = [desc(created_at), desc(id)];

/** Events that the caller may see, newest first. */
export function listActivity(ctx: Context<Member | Agent>, query: PageQuery): Promise<Page<Activity>> {
  const { rows, count } = viewOf(ctx);
  return readPageAndCount(query, rows, count, toActivity);
}

/** What a reader sees: the events of a page, and how many there are in all. */
interface View {
  rows: (limit: number, offset: number) => Promise<Row[]>;
  count: () => Promise<number>;
}

function viewOf(ctx: Context<Member | Agent>): View {
  const { actor } = ctx;
  // An agent is of one organization, and so are its events.
  if (actor.type === "agent") {
    const own = eq(agent_id, actor.agent_id);
    return { rows: rowsWhere(ctx, own), count: () => ctx.db.$count(activity_events, own) };
  }
  const { organization_id, role, all_boards_read, all_boards_write } = actor.active;
  const boardless = role === "member" ? null : organization_id;
  const count = () => countListed(ctx, readableBoards(actor), boardless);
  const all = eq(activity_events.organization_id, organization_id);
  if (all_boards_read || all_boards_write)
    return { rows: rowsWhere(ctx, boardless === null ? and(all, isNotNull(board_id))! : all), count };
  const rows = (limit: number, offset: number) => readRows(ctx, idsByBoard(readableBoards(actor), boardless, limit, offset));
  return { rows, count };
}

/** Events by a condition of which an index has the order too. An offset walks over that index, and not over the events. */
const rowsWhere = (ctx: Context, where: SQL) => (limit: number, offset: number) => {
  const { db } = ctx;
  if (offset === 0) {
    const first = db.select(columns).from(activity_events).where(where);
    return first.orderBy(...newestFirst).limit(limit);
  }
  const all = db.select({ id }).from(activity_events).where(where);
  const ids = all.orderBy(...newestFirst).limit(limit);
  return readRows(ctx, ids.offset(offset));
};

const readRows = (ctx: Context, ids: SQLWrapper): Promise<Row[]> =>
  ctx.db
    .select(columns)
    .from(activity_events)
    .where(inArray(id, ids))
    .orderBy(...newestFirst);

/** Of each board, and of the events without one, the newest; of these the newest: nothing that is not seen is walked over. */
function idsByBoard(readable: SQL, boardless: string | null, limit: number, offset: number): SQL {
  const newest = (where: SQL) => sql`
    select event.id, event.created_at from ${activity_events} as event where ${where}
    order by event.created_at desc, event.id desc limit ${limit + offset}`;
  const others = newest(sql`event.organization_id = ${boardless} and event.board_id is null`);
  return sql`(select id from (
    select event.* from ${boards} cross join lateral (${newest(sql`event.board_id = ${boards}.id`)}) as event where ${readable}
    ${boardless === null ? sql`` : sql`union all (${others})`}) as event
    order by created_at desc, id desc limit ${limit} offset ${offset})`;
}

function toActivity(row: Row): Activity {
  const { created_at, ...rest } = row;
  return {
    ...rest,
    action: actionOf(row.event_type),
    actor_id: row.agent_id ?? row.user_id,
    created_at: created_at.toISOString(),
    ...toRoute(row),
  };
}

function actionOf(event_type: string): Activity["action"] {
  if (/\.(created|requested|comment)$/.test(event_type)) return "created";
  return event_type.endsWith(".deleted") || event_type === "agent.delete.direct" ? "deleted" : "updated";
}

/** Where the dashboard shows an event (contract activity-metrics.md §1). */
function toRoute({ id, event_type, board_id, task_id, created_at }: Row): Pick<Activity, "route_name" | "route_params"> {
  const ofTask: Record<string, string> = task_id === null ? {} : { taskId: task_id };
  if (board_id === null)
    return {
      route_name: "activity",
      route_params: { eventId: id, eventType: event_type, createdAt: created_at.toISOString(), ...ofTask },
    };
  const boardId = board_id;
  if (task_id !== null && event_type === "task.comment")
    return { route_name: "board", route_params: { boardId, ...ofTask, commentId: id } };
  if (event_type.startsWith("approval.")) return { route_name: "board.approvals", route_params: { boardId } };
  if (event_type.startsWith("board.")) return { route_name: "board", route_params: { boardId, panel: "chat" } };
  return { route_name: "board", route_params: { boardId, ...ofTask } };
}
