import { oneLine } from "@board/core/wire";
import { Task } from "@board/core/task/task";
import * as z from "zod";
import { cut, firstRows, smallObject } from "./limits.ts";

const { id, board_id, title, description, status, priority, due_at, assigned_agent_id, is_blocked, lease } = Task.shape;

/** A task in a list. */
export const TaskRow = z.object({ id, board_id, title, status, priority, due_at, assigned_agent_id, is_blocked });
type TaskRow = z.infer<typeof TaskRow>;

/** A task with what an agent needs to work on it. */
export const TaskView = TaskRow.extend({
  description,
  blocked_by_task_ids: Task.shape.blocked_by_task_ids,
  tags: z.array(z.string()),
  custom_field_values: Task.shape.custom_field_values,
  lease,
});
type TaskView = z.infer<typeof TaskView>;

export const toTaskRow = (task: TaskRow): TaskRow => {
  const { id, board_id, title, status, priority, due_at, assigned_agent_id, is_blocked } = task;
  return { id, board_id, title, status, priority, due_at, assigned_agent_id, is_blocked };
};

/** The view of a task, whose description begins at a character. */
export function toTaskView(task: Task, offset = 0): TaskView {
  return {
    ...toTaskRow(task),
    description:
      task.description && cut(task.description.slice(offset).toWellFormed(), (shown) => `get_task with offset ${offset + shown}`),
    blocked_by_task_ids: firstRows(task.blocked_by_task_ids),
    tags: firstRows(task.tags.map(({ slug }) => slug)),
    custom_field_values: smallObject(task.custom_field_values, `GET /api/v1/boards/${task.board_id}/tasks/${task.id}`),
    lease: task.lease,
  };
}

export const taskLine = ({ id, title, status, priority, is_blocked }: Omit<TaskRow, "due_at" | "assigned_agent_id">): string =>
  `- ${id} [${status}, ${oneLine(priority)}${is_blocked ? ", waits for other tasks" : ""}] ${oneLine(title)}`;

/** A task in words, with the lease that its writes need. */
export function taskText(task: TaskView): string {
  const { lease, description } = task;
  return [
    taskLine(task),
    ...(lease ? [`Lease: fence ${lease.fence}, until ${lease.expires_at}.`] : []),
    ...(description ? ["", description] : []),
  ].join("\n");
}
