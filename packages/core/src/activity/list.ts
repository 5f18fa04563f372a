import { and, eq, getTableColumns, isNotNull, isNull, sql } from "drizzle-orm";
import * as z from "zod";
import { readableBoards } from "../organization/access.ts";
import type { Agent, Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { newestFirst } from "../lists/keyset.ts";
import { largeText, truncatable } from "../lists/large-fields.ts";
import { type Page, type PageQuery, pageQuery, type PageWindow } from "../lists/page.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { countReadableActivity } from "./count.ts";
import { selectNewestByBoard } from "./newest-by-board.ts";
import { listOf } from "../lists/list.ts";
import { filterBy, conditionOf, type Filter, filterIf, presentOf } from "../lists/filter.ts";
import { isAdminBeyondBoards, mayReadAll } from "../organization/board-rights.ts";

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

export const ActivityQuery = (defaultLimit?: number, maxLimit?: number) =>
  lazyObject(() => ({
    ...pageQuery(defaultLimit, maxLimit).shape,
    task_id: Id.optional().describe("Only events of this task."),
  }));
export interface ActivityQuery extends PageQuery {
  task_id?: string | undefined;
}

const { id, event_type, message, board_id, task_id, agent_id, user_id, created_at } = getTableColumns(activity_events);
const columns = { id, event_type, message, board_id, task_id, agent_id, user_id, created_at };
type Row = Pick<typeof activity_events.$inferSelect, keyof typeof columns>;

const activityOrder = newestFirst({ created_at, id });
const activityList = listOf({
  name: "activity",
  table: activity_events,
  columns,
  large: { message: largeText },
  order: activityOrder,
  skips_in_index: true,
});

/** Lists the events that the caller may see, newest first. There is an index for each kind of caller, and one for a task. */
export function listActivity(ctx: Context<Member | Agent>, query: ActivityQuery): Promise<Page<Activity>> {
  const { actor } = ctx;
  // All events of an agent belong to its organization, so the condition does not compare the organization.
  if (actor.type === "agent") {
    const filters = presentOf([
      filterBy("agent_id", actor.agent_id, (id) => eq(agent_id, id)),
      filterBy("task_id", query.task_id, (id) => eq(task_id, id)),
    ]);
    const count = () => ctx.db.$count(activity_events, conditionOf(...filters));
    return activityList.read(ctx, query, { owner: actor.agent_id, filters, count, toItem: toActivity });
  }
  const { organization_id } = actor.active;
  const seesBoardless = isAdminBeyondBoards(actor);
  const filters = [
    filterBy("organization_id", organization_id, (id) => eq(activity_events.organization_id, id)),
    filterIf("on a board", !seesBoardless, () => isNotNull(board_id)),
  ];
  if (query.task_id !== undefined) {
    const ofTask = ofReadableTask(actor, query.task_id);
    return activityList.read(ctx, query, { owner: organization_id, filters: [ofTask], toItem: toActivity });
  }
  const request = {
    owner: organization_id,
    filters,
    count: () => countReadableActivity(ctx, actor, { boardless: seesBoardless }),
    toItem: toActivity,
  };
  if (mayReadAll(actor)) return activityList.read(ctx, query, request);
  const otherEvents = seesBoardless ? and(conditionOf(...presentOf(filters)), isNull(board_id)) : undefined;
  const selectIds = (window: PageWindow) =>
    selectNewestByBoard({ boards: conditionOf(readableBoards(actor)), otherEvents, ...window });
  return activityList.read(ctx, query, { ...request, selectIds });
}

/**
 * Returns a filter for the events of a task whose board the member may read. The condition compares the board of the task. With
 * the `board_id` of the event, PostgreSQL would also search the index of all events of the board.
 */
function ofReadableTask(actor: Member, task: string): Filter {
  const { name, values, condition } = readableBoards(actor);
  return {
    name: `of a task on a board ${name}`,
    values: { ...values, task },
    condition: (of) => sql`${task_id} = (
      select ${tasks.id} from ${tasks} join ${boards} on ${boards.id} = ${tasks.board_id}
      where ${tasks.id} = ${of("task")} and ${condition(of)})`,
  };
}

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

/** Returns the page of the console that shows the event (docs/reference/activity.md#dashboard-routes). */
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
