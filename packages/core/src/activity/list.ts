import {
  and,
  eq,
  getTableColumns,
  inArray,
  isNotNull,
  isNull,
  type Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from "drizzle-orm";
import * as z from "zod";
import { readableBoards } from "../organization/access.ts";
import type { Agent, Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { createStatement, createStatementCache } from "../db/prepared.ts";
import { newestFirst, toOrderBy } from "../lists/keyset.ts";
import {
  largeText,
  type PageColumns,
  readShortened,
  type RunSelect,
  type ShortenedRow,
  toShortened,
  truncatable,
} from "../lists/large-fields.ts";
import { type Page, type PageQuery, type PageWindow, readPageAndCount } from "../lists/page.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { countReadableActivity } from "./count.ts";
import { selectNewestByBoard } from "./newest-by-board.ts";

export const Activity = lazyObject(() => ({
  id: Id.describe("Id of the event."),
  event_type: z.string().describe("Type of the event; types that end with `failed` are errors."),
  action: z.enum(["created", "updated", "deleted"]).describe("Kind of change that the event type stands for."),
  message: z.string().nullable().describe("Description of the event; for a comment its text."),
  board_id: Id.nullable().describe("Board of the event."),
  task_id: Id.nullable().describe("Task of the event; null once the task is removed."),
  agent_id: Id.nullable().describe("Agent that caused the event, or that the event is about."),
  user_id: Id.nullable().describe("User who caused the event."),
  actor_id: Id.nullable().describe("`agent_id`, else `user_id`."),
  created_at: Instant.describe("When the event happened."),
  route_name: z.enum(["board", "board.approvals", "activity"]).describe("Page of the dashboard that shows the event."),
  route_params: z.record(z.string(), z.string()).describe("Parameters of that page."),
  ...truncatable,
})).meta({ id: "ActivityEvent", description: "An event in the activity log." });
export type Activity = z.infer<typeof Activity>;

const { id, event_type, message, board_id, task_id, agent_id, user_id, created_at } = getTableColumns(activity_events);
const columns = { id, event_type, message, board_id, task_id, agent_id, user_id, created_at };
type Row = Pick<typeof activity_events.$inferSelect, keyof typeof columns>;
const LARGE_ACTIVITY_FIELDS = { message: largeText };

const activityOrder = newestFirst({ created_at, id });
const activityOrderBy = toOrderBy(activityOrder);

/** The events that the caller may see, newest first. */
export function listActivity(ctx: Context<Member | Agent>, query: PageQuery): Promise<Page<Activity>> {
  const { actor } = ctx;
  const { rows, count } = createReader(ctx);
  const owner = actor.type === "agent" ? actor.agent_id : actor.active.organization_id;
  const list = { name: "activity", owner, order: activityOrder };
  return readPageAndCount(ctx, query, list, rows, count, (row) => toShortened(row, toActivity));
}

/** Reads the events of a page and the total for one kind of caller; each kind has its own index. */
interface ActivityReader {
  rows: (window: PageWindow) => Promise<ShortenedRow<Row>[]>;
  count: () => Promise<number>;
}

function createReader(ctx: Context<Member | Agent>): ActivityReader {
  const { actor } = ctx;
  // All events of an agent belong to its organization, so the condition names no organization.
  if (actor.type === "agent") {
    const byAgent = (owner: string | Placeholder) => eq(agent_id, owner);
    return {
      rows: createRowReader(ctx, "agent", actor.agent_id, byAgent),
      count: () => ctx.db.$count(activity_events, byAgent(actor.agent_id)),
    };
  }
  const { organization_id, role, all_boards_read, all_boards_write } = actor.active;
  const boardless_organization_id = role === "member" ? null : organization_id;
  const count = () => countReadableActivity(ctx, actor, { boardless: boardless_organization_id !== null });
  const inOrganization = (owner: string | Placeholder) => eq(activity_events.organization_id, owner);
  const onBoard = (owner: string | Placeholder) => and(inOrganization(owner), isNotNull(board_id))!;
  if (all_boards_read || all_boards_write) {
    const [kind, condition] =
      boardless_organization_id === null ? (["boards", onBoard] as const) : (["all", inOrganization] as const);
    return { rows: createRowReader(ctx, kind, organization_id, condition), count };
  }
  const boardlessEvents = boardless_organization_id === null ? undefined : and(inOrganization(organization_id), isNull(board_id));
  const rows = (window: PageWindow) =>
    readRows(ctx, selectNewestByBoard({ boards: readableBoards(actor), otherEvents: boardlessEvents, ...window }), window.limit);
  return { rows, count };
}

const firstPages = createStatementCache<Record<string, unknown>[]>();

/**
 * Reads events by a condition whose index also has the order. With an offset it skips ids in that index, not whole events. The
 * query of a first page is built once for each kind of condition.
 */
const createRowReader =
  (ctx: Context, kind: string, owner: string, condition: (owner: string | Placeholder) => SQL) =>
  ({ after, limit, offset }: PageWindow) => {
    const { db } = ctx;
    if (after === undefined && offset === 0) {
      const run: RunSelect = (key, build) => {
        const statement =
          key === null ? createStatement<Record<string, unknown>[]>(build()) : firstPages.get(`${kind}/${key}`, build);
        return statement.execute(db, { owner, limit });
      };
      const select = (columns: PageColumns) => {
        const first = db
          .select(columns)
          .from(activity_events)
          .where(condition(sql.placeholder("owner")));
        return first.orderBy(...activityOrderBy).limit(sql.placeholder("limit"));
      };
      return selectRows(ctx, limit, select, run);
    }
    const where = and(condition(owner), after);
    if (offset === 0)
      return selectRows(ctx, limit, (columns) => {
        const first = db.select(columns).from(activity_events).where(where);
        return first.orderBy(...activityOrderBy).limit(limit);
      });
    const all = db.select({ id }).from(activity_events).where(where);
    const ids = all.orderBy(...activityOrderBy).limit(limit);
    return readRows(ctx, ids.offset(offset), limit);
  };

const readRows = (ctx: Context, ids: SQLWrapper, limit: number) =>
  selectRows(ctx, limit, (columns) =>
    ctx.db
      .select(columns)
      .from(activity_events)
      .where(inArray(id, ids))
      .orderBy(...activityOrderBy),
  );

const selectRows = (
  ctx: Context,
  max_rows: number,
  select: Parameters<typeof readShortened>[2],
  run?: RunSelect,
): Promise<ShortenedRow<Row>[]> =>
  readShortened(ctx, { fields: columns, large: LARGE_ACTIVITY_FIELDS, max_rows, ...(run ? { run } : {}) }, select);

function toActivity(row: Row): Activity {
  const { created_at, ...rest } = row;
  return {
    ...rest,
    action: toAction(row.event_type),
    actor_id: row.agent_id ?? row.user_id,
    created_at: created_at.toISOString(),
    ...toRoute(row),
  };
}

function toAction(event_type: string): Activity["action"] {
  if (/\.(created|requested|comment)$/.test(event_type)) return "created";
  return event_type.endsWith(".deleted") || event_type === "agent.delete.direct" ? "deleted" : "updated";
}

/** The page of the dashboard that shows an event (docs/reference/activity.md#dashboard-routes). */
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
