import type { Task, TaskComment } from "@board/client";
import type { Column, Output } from "./output.ts";
import { toSafeLine, toSafeText } from "./text.ts";

export const taskColumns: Column<Pick<Task, "id" | "status" | "priority" | "title" | "is_blocked" | "due_at">>[] = [
  { title: "id", value: ({ id }) => id },
  { title: "status", value: ({ status, is_blocked }) => (is_blocked && status !== "blocked" ? `${status} (blocked)` : status) },
  { title: "priority", value: ({ priority }) => priority, max: 10 },
  { title: "due", value: ({ due_at }) => due_at?.slice(0, 16).replace("T", " ") ?? "" },
  { title: "title", value: ({ title }) => title, max: 70 },
];

const authorOf = ({ agent_id, user_id }: Pick<TaskComment, "agent_id" | "user_id">) =>
  agent_id ? `agent ${agent_id}` : user_id ? `user ${user_id}` : "system";

/** Prints a task as people read it: facts, description, comments. */
export function printTask(output: Output, task: Task, comments: readonly TaskComment[]): void {
  output.line(output.bold(toSafeLine(task.title)));
  const facts: [string, string][] = [
    ["id", task.id],
    ["board", task.board_id],
    ["status", task.status],
    ["priority", toSafeLine(task.priority)],
    ["due", task.due_at ?? ""],
    ["assigned to", task.assigned_agent_id ?? ""],
    ["blocked by", task.blocked_by_task_ids.join(", ")],
    ["tags", task.tags.map(({ name }) => toSafeLine(name)).join(", ")],
    ["lease until", task.lease?.expires_at ?? ""],
  ];
  for (const [name, value] of facts) if (value !== "") output.line(`${`${name}:`.padEnd(13)}${value}`);
  if (task.description) output.line(`\n${toSafeText(task.description)}`);
  for (const comment of comments) {
    output.line(`\n${output.bold(`${comment.created_at}  ${authorOf(comment)}`)}`);
    output.line(toSafeText(comment.content));
  }
}
