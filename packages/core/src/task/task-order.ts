import { type Placeholder, sql } from "drizzle-orm";
import * as z from "zod";
import { descending, idKey, newestFirst, type SortOrder, timeKey } from "../lists/keyset.ts";
import { valueError } from "../values/wire.ts";
import { dueOrNever, priorityRank, tasks } from "../schema/task.sql.ts";

interface TaskKeys {
  id: string;
  priority: string;
  due_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const id = idKey<TaskKeys>(tasks.id, (task) => task.id);
const created = timeKey<TaskKeys>(tasks.created_at, (task) => task.created_at);
const updated = timeKey<TaskKeys>(tasks.updated_at, (task) => task.updated_at);
/** Tasks without a due date come last in both directions. */
const dueFirst = timeKey<TaskKeys>(dueOrNever(tasks.due_at), ({ due_at }) => due_at ?? "infinity");
const dueLast = timeKey<TaskKeys>(sql`coalesce(${tasks.due_at}, '-infinity')`, ({ due_at }) => due_at ?? "-infinity");
const priority = {
  by: priorityRank(tasks.priority),
  of: (task: TaskKeys) => task.priority,
  toValue: (text: string | Placeholder) => priorityRank(sql`${text}::text`),
};

const SORT = /^-?(?:created_at|updated_at|due_at|priority)$/;
type TaskKey = "created_at" | "updated_at" | "due_at" | "priority";
export type TaskSort = TaskKey | `-${TaskKey}`;

const isTaskSort = (text: string): text is TaskSort => SORT.test(text);

/** This is not an enum, because client generators would give both directions of a key the same constant name. */
export const TaskSort = z
  .string()
  .refine(isTaskSort, valueError("sort must be created_at, updated_at, due_at or priority, with - for the other direction"))
  .optional()
  .describe(
    "Order of the tasks: `created_at`, `updated_at`, `due_at` or `priority`, with `-` for the other direction. By default `-created_at`, the newest first. `due_at` begins with the earliest; without a due date a task comes last either way. `priority` begins with `high`.",
  )
  .meta({ examples: ["-updated_at"] });

export const TASK_ORDERS: Record<TaskSort, SortOrder<TaskKeys>> = {
  created_at: [created, id],
  "-created_at": newestFirst(tasks),
  updated_at: [updated, id],
  "-updated_at": descending(updated, id),
  due_at: [dueFirst, id],
  "-due_at": descending(dueLast, id),
  priority: [priority, created, id],
  "-priority": descending(priority, created, id),
};
