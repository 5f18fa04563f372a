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

/** Prints a task for people: facts, description, comments. `names` contains the names of agents by id. */
export function printTask(
  output: Output,
  task: Task,
  comments: readonly TaskComment[],
  names: ReadonlyMap<string, string>,
): void {
  const nameOf = (agent_id: string) => toSafeLine(names.get(agent_id) ?? `agent ${agent_id}`);
  output.line(output.bold(toSafeLine(task.title)));
  const facts: [string, string][] = [
    ["id", task.id],
    ["board", task.board_id],
    ["status", task.status],
    ["priority", toSafeLine(task.priority)],
    ["due", task.due_at ?? ""],
    ["assigned to", task.assigned_agent_id ? nameOf(task.assigned_agent_id) : ""],
    ["handed in by", task.submitted_by_agent_id ? nameOf(task.submitted_by_agent_id) : ""],
    ["blocked by", task.blocked_by_task_ids.join(", ")],
    ["tags", task.tags.map(({ name }) => toSafeLine(name)).join(", ")],
    ["lease until", task.lease?.expires_at ?? ""],
  ];
  for (const [name, value] of facts) if (value !== "") output.line(`${`${name}:`.padEnd(14)}${value}`);
  if (task.description) output.line(`\n${toSafeText(task.description)}`);
  for (const { created_at, agent_id, user_id, content } of comments) {
    const author = agent_id ? nameOf(agent_id) : user_id ? `user ${user_id}` : "system";
    output.line(`\n${output.bold(`${created_at}  ${author}`)}`);
    output.line(toSafeText(content));
  }
}
