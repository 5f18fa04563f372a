import { computed, signal } from "@preact/signals";
import { api } from "../api.ts";
import { announce, showError } from "../ui/toast.tsx";
import { type Agent, type Board, type Status, STATUS_NAMES, STATUSES, type Task } from "../types.ts";
import { comparing, matches, options } from "./options.ts";

/** The board that is shown; null until it is read. */
export const board = signal<Board | null>(null);
export const agents = signal<ReadonlyMap<string, Agent>>(new Map());
export const tasks = signal<ReadonlyMap<string, Task>>(new Map());
/** Why the board cannot be shown. */
export const problem = signal<string | null>(null);
/** Whether the service omitted tasks because there are too many. */
export const isShortened = signal(false);
/** Moves that the service has not confirmed yet. */
export const moving = signal<ReadonlyMap<string, Status>>(new Map());
/** Tasks that have just changed their column, in this window or in another one. */
export const arrived = signal<ReadonlySet<string>>(new Set());

const ARRIVED_MS = 900;

const statusOf = (task: Task): Status => moving.value.get(task.id) ?? task.status;

export const columns = computed<Record<Status, Task[]>>(() => {
  const result: Record<Status, Task[]> = { inbox: [], in_progress: [], blocked: [], review: [], done: [] };
  const shown = options.value;
  for (const task of tasks.value.values()) if (matches(task, shown)) result[statusOf(task)].push(task);
  for (const status of STATUSES) result[status].sort(comparing(shown.sort, status));
  return result;
});

/** The tasks of all columns in one list. */
export const listed = computed<Task[]>(() => {
  const { sort } = options.value;
  const all = STATUSES.flatMap((status) => columns.value[status]);
  return sort === "work" ? all : all.sort(comparing(sort));
});

/** The tags of the board's tasks, sorted by name. */
export const usedTags = computed(() => {
  const found = new Map([...tasks.value.values()].flatMap(({ tags }) => tags.map((tag) => [tag.id, tag] as const)));
  return [...found.values()].toSorted((one, other) => one.name.localeCompare(other.name));
});

/**
 * Returns the unfinished tasks that a task waits for. The page computes them, because no change of a task is reported when a task
 * that it waits for is completed.
 */
export function blockersOf(task: Task): string[] {
  if (task.status === "done") return [];
  return task.depends_on_task_ids.filter((id) => {
    const dependency = tasks.value.get(id);
    return dependency ? statusOf(dependency) !== "done" : task.blocked_by_task_ids.includes(id);
  });
}

/** Whether two versions of a task are shown alike. Most of its fields are texts and numbers, so only few are compared as JSON. */
const isSameTask = (one: Task, other: Task): boolean =>
  (Object.keys(other) as (keyof Task)[]).every((field) => {
    const [before, now] = [one[field], other[field]];
    return before === now || (typeof now === "object" && JSON.stringify(before) === JSON.stringify(now));
  });

/**
 * Replaces the tasks but keeps the objects of unchanged ones, so that their cards are not drawn again. If a task has changed
 * while the snapshot was on its way, its newer version is kept too.
 */
export function replaceTasks(read: readonly Task[]): void {
  const before = tasks.value;
  const isFirst = before.size === 0;
  const moved: string[] = [];
  tasks.value = new Map(
    read.map((task) => {
      const known = before.get(task.id);
      if (known && (known.updated_at > task.updated_at || isSameTask(known, task))) return [task.id, known];
      if (!isFirst && known?.status !== task.status) moved.push(task.id);
      return [task.id, task];
    }),
  );
  markArrived(moved);
}

export function putTask(task: Task): void {
  const known = tasks.value.get(task.id);
  if (known && known.updated_at > task.updated_at) return;
  if (known && statusOf(known) !== task.status) markArrived([task.id]);
  tasks.value = new Map(tasks.value).set(task.id, task);
}

export function removeTask(id: string): void {
  const rest = new Map(tasks.value);
  if (rest.delete(id)) tasks.value = rest;
}

function markArrived(ids: readonly string[]): void {
  if (ids.length === 0) return;
  arrived.value = new Set([...arrived.value, ...ids]);
  setTimeout(() => (arrived.value = new Set([...arrived.value].filter((id) => !ids.includes(id)))), ARRIVED_MS);
}

/** Adds the fields that only the board's snapshot has to a task that another operation returned. */
export const complete = (task: Omit<Task, "assignee" | "approvals_count" | "approvals_pending_count">): Task => {
  const known = tasks.value.get(task.id);
  const assignee = task.assigned_agent_id === null ? null : (agents.value.get(task.assigned_agent_id)?.name ?? null);
  const { approvals_count = 0, approvals_pending_count = 0 } = known ?? {};
  return { ...task, assignee, approvals_count, approvals_pending_count };
};

/** Moves a card at once. When the service refuses, the card moves back and the reason is shown. */
export async function moveTask(task: Task, status: Status, comment?: string): Promise<boolean> {
  const from = statusOf(task);
  if (from === status) return true;
  moving.value = new Map(moving.value).set(task.id, status);
  announce(`${task.title} moved to ${STATUS_NAMES[status]}`);
  try {
    await changeTask(task, { status, ...(comment ? { comment } : {}) });
    return true;
  } catch (error) {
    showError(`“${shorten(task.title)}” stays in ${STATUS_NAMES[from]}`, error);
    return false;
  } finally {
    const rest = new Map(moving.value);
    // A later move of the same task is still on its way.
    if (rest.get(task.id) === status) rest.delete(task.id);
    moving.value = rest;
  }
}

type TaskChange = Parameters<typeof api.patch<"/api/v1/boards/{board_id}/tasks/{task_id}">>[1]["body"];

/** Changes a task. If `tag` is given, the service refuses the change unless the task still has this ETag. */
export async function changeTask({ board_id, id }: Task, body: TaskChange, tag?: string): Promise<void> {
  const params = { path: { board_id, task_id: id }, ...(tag ? { header: { "If-Match": tag } } : {}) };
  putTask(complete(await api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params, body })));
}

export async function createTask(
  board_id: string,
  body: Parameters<typeof api.post<"/api/v1/boards/{board_id}/tasks">>[1]["body"],
): Promise<Task> {
  const task = complete(await api.post("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } }, body }));
  putTask(task);
  return task;
}

export async function deleteTask({ board_id, id }: Task): Promise<void> {
  await api.delete("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id: id } } });
  removeTask(id);
}

const MAX_TITLE = 60;
const shorten = (text: string) => (text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE)} …` : text);
