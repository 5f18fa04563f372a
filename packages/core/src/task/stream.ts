import { and, eq, inArray, isNotNull, ne, or } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import { activity_events } from "../activity/activity.sql.ts";
import type { EventRow } from "../activity/activity.ts";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { cursorOf } from "../stream/cursor.ts";
import { Since } from "../stream/since.ts";
import { inOrder, type Source, within } from "../stream/source.ts";
import { Id, Instant } from "../wire.ts";
import { TaskComment, toComment } from "./comment.ts";
import { tasks } from "./task.sql.ts";
import { Task, taskColumns, toTask } from "./task.ts";

const Change = z.enum(["task.created", "task.updated", "task.status_changed"]);
const SHOWN = ["task.comment", ...Change.options] as const;

const TaskActivity = z
  .object({
    id: Id.describe("Id of the event in the activity log."),
    event_type: z.enum(SHOWN).describe("What happened."),
    message: z.string().nullable().describe("What happened, in words; of a comment its text."),
    agent_id: Id.nullable().describe("Agent that did it; null for a person."),
    task_id: Id.nullable().describe("The task; null once it is removed."),
    created_at: Instant.describe("When it happened."),
  })
  .meta({ id: "TaskActivity", description: "What happened to a task." });

const activity = TaskActivity.describe("The event of the activity log.");
export const TaskEvent = z
  .union([
    z.object({
      type: z.literal("task.comment").describe("Somebody said something about a task."),
      activity,
      comment: TaskComment.describe("The comment."),
    }),
    z.object({
      type: Change.describe("What happened to the task."),
      activity,
      task: Task.nullable().describe("The task as it is by now; null once it is removed."),
    }),
  ])
  .meta({ id: "TaskEvent", description: "The data of a `task` event." });
type TaskEvent = z.infer<typeof TaskEvent>;

export const TaskStreamQuery = z.object({ since: Since });

const order = { tx: activity_events.tx, seq: activity_events.seq, at: activity_events.created_at };

/** What happens to a board's tasks from now on, with the tasks as they are when it is read. */
export async function followTasks(ctx: Context<User | Agent>, board_id: string): Promise<Source> {
  const board = await boardFor(ctx, board_id, "read");
  const noComment = ne(activity_events.event_type, "task.comment");
  const wanted = and(
    eq(activity_events.board_id, board.id),
    inArray(activity_events.event_type, [...SHOWN]),
    // A comment goes with its task.
    or(noComment, isNotNull(activity_events.task_id)),
  );
  const ofTask = and(eq(tasks.id, activity_events.task_id), eq(tasks.board_id, board.id), noComment);
  return {
    key: `tasks ${board.id}`,
    event: "task",
    async read(ctx, window) {
      const rows = await ctx.db
        .select({ event: activity_events, task: taskColumns })
        .from(activity_events)
        .leftJoin(tasks, ofTask)
        .where(and(wanted, within(window, order)))
        .orderBy(...inOrder(window, order))
        .limit(window.limit);
      return rows.map(({ event, task }) => ({
        id: event.id,
        cursor: cursorOf(event.tx, event.seq),
        data: toEvent(event, task && toTask(task)),
      }));
    },
  };
}

function toEvent(event: EventRow, task: Task | null): TaskEvent {
  const { id, message, agent_id, task_id } = event;
  const event_type = event.event_type as (typeof SHOWN)[number];
  const activity = { id, event_type, message, agent_id, task_id, created_at: event.created_at.toISOString() };
  if (event_type === "task.comment") return { type: event_type, activity, comment: toComment(event) };
  return { type: event_type, activity, task };
}
