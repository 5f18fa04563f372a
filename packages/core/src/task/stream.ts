import { and, eq, inArray, isNotNull, ne, or } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import { activity_events } from "../schema/activity.sql.ts";
import type { EventRow } from "../activity/activity.ts";
import type { CallerContext } from "../context/context.ts";
import { ClientId } from "../stream/client-id.ts";
import { toCursor } from "../stream/cursor.ts";
import { Since } from "../stream/since.ts";
import { windowOrder, type Source, windowCondition } from "../stream/source.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { TaskComment, toComment } from "./comment/comment.ts";
import { tasks } from "../schema/task.sql.ts";
import { Task, taskColumns, toTask } from "./task.ts";

const ChangeType = z.enum(["task.created", "task.updated", "task.status_changed"]);
const EVENT_TYPES = ["task.comment", ...ChangeType.options] as const;

const TaskActivity = lazyObject(() => ({
  id: Id.describe("Id of the event in the activity log."),
  event_type: z.enum(EVENT_TYPES).describe("What happened."),
  message: z.string().nullable().describe("What happened, as a sentence; for a comment, its text."),
  agent_id: Id.nullable().describe("Agent that caused the event; null for a person."),
  task_id: Id.nullable().describe("The task; null after it was removed."),
  created_at: Instant.describe("When it happened."),
})).meta({ id: "TaskActivity", description: "An event of a task in the activity log." });

const activity = TaskActivity.describe("The event of the activity log.");
export const TaskEvent = z
  .union([
    lazyObject(() => ({
      type: z.literal("task.comment").describe("Somebody commented on a task."),
      activity,
      comment: TaskComment.describe("The comment."),
    })),
    lazyObject(() => ({
      type: ChangeType.describe("What happened to the task."),
      activity,
      task: Task.nullable().describe("The task as it is now; null after it was removed."),
    })),
  ])
  .meta({ id: "TaskEvent", description: "The data of a `task` event." });
type TaskEvent = z.infer<typeof TaskEvent>;

export const TaskStreamQuery = lazyObject(() => ({
  since: Since.describe("Sends changes after this time; the default is now. A Last-Event-ID header wins."),
  client_id: ClientId,
}));

const order = { tx: activity_events.tx, seq: activity_events.seq, at: activity_events.created_at, strictly: true };

/**
 * Returns the stream of a board's task events. Each event contains the task as it is when the event is read, not as it was when the
 * event happened.
 */
export async function followTasks(ctx: CallerContext, board_id: string): Promise<Source> {
  const board = await boardFor(ctx, board_id, "read");
  const isNotComment = ne(activity_events.event_type, "task.comment");
  const condition = and(
    eq(activity_events.board_id, board.id),
    inArray(activity_events.event_type, [...EVENT_TYPES]),
    // A comment without a task id belonged to a task that was removed, so it is left out.
    or(isNotComment, isNotNull(activity_events.task_id)),
  );
  const isTaskOfEvent = and(eq(tasks.id, activity_events.task_id), eq(tasks.board_id, board.id), isNotComment);
  return {
    key: `tasks ${board.id}`,
    organization_id: board.organization_id,
    event: "task",
    async read(ctx, window) {
      const rows = await ctx.db
        .select({ event: activity_events, task: taskColumns })
        .from(activity_events)
        .leftJoin(tasks, isTaskOfEvent)
        .where(and(condition, windowCondition(window, order)))
        .orderBy(...windowOrder(window, order))
        .limit(window.limit);
      return rows.map(({ event, task }) => ({
        id: event.id,
        cursor: toCursor(event.tx, event.seq),
        data: toEvent(event, task && toTask(task)),
      }));
    },
  };
}

function toEvent(event: EventRow, task: Task | null): TaskEvent {
  const { id, message, agent_id, task_id } = event;
  const event_type = event.event_type as (typeof EVENT_TYPES)[number];
  const activity = { id, event_type, message, agent_id, task_id, created_at: event.created_at.toISOString() };
  if (event_type === "task.comment") return { type: event_type, activity, comment: toComment(event) };
  return { type: event_type, activity, task };
}
