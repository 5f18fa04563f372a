import { Task } from "@board/core/task/task";
import * as z from "zod";
import { fenced, fencedRows, labelled } from "./fenced.ts";
import { type Beginning, beginningOf, firstRows, inline, smallObject } from "./limits.ts";
import type { Caller } from "./tool.ts";

const { id, board_id, title, description, status, priority, due_at, is_blocked, lease } = Task.shape;
const { assigned_agent_id, submitted_by_agent_id } = Task.shape;

/** A task in a list. */
export const TaskRow = z.object({
  id,
  board_id,
  title,
  status,
  priority,
  due_at,
  assigned_agent_id,
  submitted_by_agent_id,
  is_blocked,
});
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
  const { id, board_id, title, status, priority, due_at, assigned_agent_id, submitted_by_agent_id, is_blocked } = task;
  return { id, board_id, title, status, priority, due_at, assigned_agent_id, submitted_by_agent_id, is_blocked };
};

/** Creates the view of a task. The description begins at the character `offset`. */
export function toTaskView(task: Task, offset = 0): TaskView {
  return {
    ...toTaskRow(task),
    description: task.description && inline(descriptionOf(task.description, offset)),
    blocked_by_task_ids: firstRows(task.blocked_by_task_ids),
    tags: firstRows(task.tags.map(({ slug }) => slug)),
    custom_field_values: smallObject(task.custom_field_values, `GET /api/v1/boards/${task.board_id}/tasks/${task.id}`),
    lease: task.lease,
  };
}

const descriptionOf = (description: string, offset: number): Beginning =>
  beginningOf(description.slice(offset).toWellFormed(), (shown) => `get_task with offset ${offset + shown}`);

type Agents = "assigned_agent_id" | "submitted_by_agent_id";
/** A task in a list. Agents are left out if the reader knows them, as in an inbox. */
type ListedTask = Omit<TaskRow, Agents> & Partial<Pick<TaskRow, Agents>> & { lease?: Lease | null };
type Lease = Pick<NonNullable<Task["lease"]>, "fence" | "expires_at">;

/** Describes tasks in a list. */
export const taskRowsText = (about: string, tasks: readonly ListedTask[]): string[] =>
  fencedRows(
    about,
    tasks.map((task) => ({ fact: factsOf(task).join(", "), name: `${task.title} (priority ${task.priority})` })),
  );

/** Returns what the service knows about a task, without text that others wrote. */
const factsOf = ({
  id,
  board_id,
  status,
  due_at,
  assigned_agent_id: assignee,
  submitted_by_agent_id: submitter,
  is_blocked,
  lease,
}: ListedTask): string[] => [
  `${id} [${status}]`,
  `board ${board_id}`,
  ...(due_at === null ? [] : [`due ${due_at}`]),
  ...(assignee === undefined ? [] : [assignee === null ? "unassigned" : `assigned to agent ${assignee}`]),
  ...(submitter ? [`handed in by agent ${submitter}`] : []),
  ...(is_blocked ? ["waits for other tasks"] : []),
  ...(lease ? [leaseText(lease)] : []),
];

const leaseText = ({ fence, expires_at }: Lease): string => `lease with fence ${fence} until ${expires_at}`;

/** Describes a task in words for a caller. The task's field `description` is shown from the character `offset` on. */
export function taskText(task: Task, caller: Caller, offset = 0): string[] {
  const { description, blocked_by_task_ids: blockers, created_by_user_id } = task;
  const text = description ? descriptionOf(description, offset) : { shown: "", rest: null };
  const shown = [labelled(shortTextsOf(task)), ...(text.shown === "" ? [] : ["", text.shown])].join("\n");
  const creator = created_by_user_id === null ? "an agent or a removed person" : `person ${created_by_user_id}`;
  return [
    `Task ${factsOf(task).join(", ")}.`,
    ...(blockers.length > 0 ? [`It waits for ${firstRows(blockers).join(", ")}.`] : []),
    ...holderText(task, caller),
    ...fenced(`Its text, created by ${creator}`, { ...text, shown }),
  ];
}

function shortTextsOf(task: Task): Record<string, string> {
  const { title, priority, tags, custom_field_values: fields } = toTaskView(task);
  return {
    Title: title,
    Priority: priority,
    ...(tags.length > 0 ? { Tags: tags.join(", ") } : {}),
    ...(Object.keys(fields).length > 0 ? { Fields: JSON.stringify(fields) } : {}),
  };
}

/** Tells the holder of a task which fence to send. If nobody is working on the task, tells a worker how to get work. */
function holderText({ lease, status }: Task, caller: Caller): string[] {
  if (caller.type !== "agent") return [];
  if (lease?.agent_id === caller.agent_id)
    return [`The lease is yours: send fence ${lease.fence} with every write to this task. A comment renews it.`];
  return caller.is_board_lead || status === "in_progress"
    ? []
    : ["You are not working on this task. To get work, call next_task."];
}
