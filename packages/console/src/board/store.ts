import { batch, computed, signal } from "@preact/signals";
import { api, isStatus, messageOf } from "../api.ts";
import { type Change, isFollowing, onChanges } from "../live.ts";
import { isAdmin } from "../session.ts";
import { announce, showError } from "../ui/toast.tsx";
import { type Agent, type Approval, type Board, type Status, STATUS_NAMES, STATUSES, type Task } from "../types.ts";

/** The board that is shown; null until it is read. */
export const board = signal<Board | null>(null);
export const agents = signal<ReadonlyMap<string, Agent>>(new Map());
export const tasks = signal<ReadonlyMap<string, Task>>(new Map());
/** Why the board cannot be shown. */
export const problem = signal<string | null>(null);
/** Whether the service left tasks out, because there are too many. */
export const isShortened = signal(false);
export const filter = signal("");
/** Moves that the service has not answered yet. */
const moving = signal<ReadonlyMap<string, Status>>(new Map());
/** Tasks that have just changed their column, in this window or elsewhere. */
export const arrived = signal<ReadonlySet<string>>(new Set());

const ARRIVED_MS = 900;
/** Changes that come together are read together, and many of them as a whole board. */
const GATHER_MS = 150;
const MAX_SINGLE_READS = 6;
const AGENTS_MS = 3_000;
const MEMBER_AGENTS_MS = 20_000;

const RANKS: Record<string, number> = { high: 0, medium: 1, low: 2 };
const rankOf = ({ priority }: Task) => RANKS[priority.toLowerCase()] ?? 3;
const dueOf = ({ due_at }: Task) => due_at ?? "9";

/** The order in which agents take work; what is done begins with the latest. */
function compare(status: Status, one: Task, other: Task): number {
  if (status === "done") return one.updated_at < other.updated_at ? 1 : -1;
  return (
    rankOf(one) - rankOf(other) ||
    (dueOf(one) < dueOf(other) ? -1 : dueOf(one) > dueOf(other) ? 1 : 0) ||
    (one.created_at < other.created_at ? -1 : one.created_at > other.created_at ? 1 : one.id < other.id ? -1 : 1)
  );
}

const statusOf = (task: Task): Status => moving.value.get(task.id) ?? task.status;

const matches = (task: Task, text: string): boolean =>
  [task.title, task.assignee ?? "", task.priority, ...task.tags.map((tag) => tag.name)].some((value) =>
    value.toLowerCase().includes(text),
  );

export const columns = computed<Record<Status, Task[]>>(() => {
  const result: Record<Status, Task[]> = { inbox: [], in_progress: [], blocked: [], review: [], done: [] };
  const text = filter.value.trim().toLowerCase();
  for (const task of tasks.value.values()) if (!text || matches(task, text)) result[statusOf(task)].push(task);
  for (const status of STATUSES) result[status].sort((one, other) => compare(status, one, other));
  return result;
});

/** The unfinished tasks that a task waits for. Computed here, since a task does not change when another one is done. */
export function blockersOf(task: Task): string[] {
  if (task.status === "done") return [];
  return task.depends_on_task_ids.filter((id) => {
    const dependency = tasks.value.get(id);
    return dependency ? statusOf(dependency) !== "done" : task.blocked_by_task_ids.includes(id);
  });
}

let current: string | null = null;

/** Shows a board and keeps it up to date until another one is opened. */
export async function openBoard(board_id: string): Promise<void> {
  if (current !== board_id)
    batch(() => {
      board.value = null;
      tasks.value = new Map();
      moving.value = new Map();
      problem.value = null;
      filter.value = "";
    });
  current = board_id;
  await isFollowing;
  await readBoard(board_id);
}

async function readBoard(board_id: string): Promise<void> {
  try {
    const snapshot = await api.get("/api/v1/boards/{board_id}/snapshot", { params: { path: { board_id } } });
    if (current !== board_id) return;
    batch(() => {
      problem.value = null;
      board.value = snapshot.board;
      agents.value = new Map(snapshot.agents.map((agent) => [agent.id, agent]));
      isShortened.value = snapshot.truncated_fields?.includes("tasks") ?? false;
      replaceTasks(snapshot.tasks);
    });
  } catch (error) {
    if (current !== board_id) return;
    if (board.value === null || isStatus(error, 404) || isStatus(error, 403)) problem.value = messageOf(error);
  }
}

/** Keeps the objects of tasks that have not changed, whose cards are then not drawn again. */
function replaceTasks(read: readonly Task[]): void {
  const before = tasks.value;
  const isFirst = before.size === 0;
  const moved: string[] = [];
  tasks.value = new Map(
    read.map((task) => {
      const known = before.get(task.id);
      if (!isFirst && known?.status !== task.status) moved.push(task.id);
      return [task.id, known && JSON.stringify(known) === JSON.stringify(task) ? known : task];
    }),
  );
  markArrived(moved);
}

function putTask(task: Task): void {
  const known = tasks.value.get(task.id);
  if (known && known.updated_at > task.updated_at) return;
  if (known && statusOf(known) !== task.status) markArrived([task.id]);
  tasks.value = new Map(tasks.value).set(task.id, task);
}

function removeTask(id: string): void {
  const rest = new Map(tasks.value);
  if (rest.delete(id)) tasks.value = rest;
}

function markArrived(ids: readonly string[]): void {
  if (ids.length === 0) return;
  arrived.value = new Set([...arrived.value, ...ids]);
  setTimeout(() => (arrived.value = new Set([...arrived.value].filter((id) => !ids.includes(id)))), ARRIVED_MS);
}

/** Completes a task of another answer with what only the snapshot has. */
const complete = (task: Omit<Task, "assignee" | "approvals_count" | "approvals_pending_count">): Task => {
  const known = tasks.value.get(task.id);
  const assignee = task.assigned_agent_id === null ? null : (agents.value.get(task.assigned_agent_id)?.name ?? null);
  const { approvals_count = 0, approvals_pending_count = 0 } = known ?? {};
  return { ...task, assignee, approvals_count, approvals_pending_count };
};

/** Moves a card at once, and puts it back with the reason when the service refuses. */
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
    rest.delete(task.id);
    moving.value = rest;
  }
}

type TaskChange = Partial<Pick<Task, "title" | "description" | "status" | "priority" | "assigned_agent_id" | "due_at">> & {
  comment?: string;
};

export async function changeTask({ board_id, id }: Task, body: TaskChange): Promise<void> {
  const params = { path: { board_id, task_id: id } };
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

const changed = new Set<string>();
let gathering: ReturnType<typeof setTimeout> | undefined;
let agentsTimer: ReturnType<typeof setTimeout> | undefined;

onChanges((changes) => {
  const board_id = current;
  if (board_id === null) return;
  if (changes === "reset") return void readBoard(board_id);
  for (const change of changes) if (change.board_id === board_id) note(change);
});

function note({ type, action, id, task_id }: Change): void {
  if (type === "board") return void (action === "removed" ? (problem.value = "This board was removed.") : readSoon("board"));
  if (type === "agent") return readAgentsSoon();
  if (type === "task" && action === "removed") return removeTask(id);
  if (type === "task") return readSoon(id);
  if (type === "approval") readSoon("approvals");
  // A comment renews the lease of its author.
  if (type === "comment" && task_id && tasks.value.get(task_id)?.lease) readSoon(task_id);
}

function readSoon(what: string): void {
  changed.add(what);
  gathering ??= setTimeout(() => {
    gathering = undefined;
    const all = [...changed];
    changed.clear();
    void readChanged(all);
  }, GATHER_MS);
}

async function readChanged(all: readonly string[]): Promise<void> {
  const board_id = current;
  if (board_id === null) return;
  const ids = all.filter((what) => what !== "board" && what !== "approvals");
  if (all.includes("board") || ids.length > MAX_SINGLE_READS) return readBoard(board_id);
  await Promise.all([
    ...ids.map((id) => readTask(board_id, id)),
    ...(all.includes("approvals") ? [readApprovals(board_id)] : []),
  ]);
}

async function readTask(board_id: string, task_id: string): Promise<void> {
  try {
    const task = await api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id } } });
    if (current === board_id) putTask(complete(task));
  } catch (error) {
    if (isStatus(error, 404)) removeTask(task_id);
  }
}

/** Cards show how many approvals are pending. */
async function readApprovals(board_id: string): Promise<void> {
  const query = { status: "pending", limit: 200 } as const;
  const page = await api.get("/api/v1/boards/{board_id}/approvals", { params: { path: { board_id }, query } }).catch(() => null);
  if (!page || current !== board_id) return;
  const counts = countByTask(page.items);
  let differs = false;
  const next = new Map(tasks.value);
  for (const task of next.values()) {
    const approvals_pending_count = counts.get(task.id) ?? 0;
    if (approvals_pending_count === task.approvals_pending_count) continue;
    differs = true;
    next.set(task.id, { ...task, approvals_pending_count });
  }
  if (differs) tasks.value = next;
}

function countByTask(approvals: readonly Approval[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { task_ids } of approvals) for (const id of task_ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** Agents check in often, so their presence is read at most every few seconds. Members read it with the board. */
function readAgentsSoon(): void {
  agentsTimer ??= setTimeout(
    () => {
      agentsTimer = undefined;
      if (isAdmin.value && current !== null) void readAgents(current);
      else readSoon("board");
    },
    isAdmin.value ? AGENTS_MS : MEMBER_AGENTS_MS,
  );
}

async function readAgents(board_id: string): Promise<void> {
  const page = await api.get("/api/v1/agents", { params: { query: { board_id, limit: 200 } } }).catch(() => null);
  if (page && current === board_id) agents.value = new Map(page.items.map((agent) => [agent.id, agent]));
}
