import { batch } from "@preact/signals";
import { ApiError } from "@board/client/error";
import { api, isStatus, messageOf } from "../api.ts";
import { type Change, isFollowing, onChanges } from "../live.ts";
import { route } from "../route.ts";
import { isAdmin } from "../session.ts";
import type { Approval, Task } from "../types.ts";
import { agents, board, complete, isShortened, moving, problem, putTask, removeTask, replaceTasks, tasks } from "./store.ts";

/** Changes within this time are read together. When there are many, the whole board is read instead. */
const GATHER_MS = 150;
const MAX_SINGLE_READS = 6;
/** Minimum time between two reads of the whole board while it keeps changing. */
const SPACING_MS = 1_000;
const AGENTS_MS = 3_000;
const MEMBER_AGENTS_MS = 20_000;

let current: string | null = null;
/** Whether the board is visible. Its data is kept while another view is open. */
let isShown = false;
const changed = new Set<string>();
let earliest = 0;
let gathering: ReturnType<typeof setTimeout> | undefined;
let agentsTimer: ReturnType<typeof setTimeout> | undefined;

/** Shows a board and keeps it up to date until it is closed. */
export async function openBoard(board_id: string): Promise<void> {
  if (current !== board_id)
    batch(() => {
      board.value = null;
      tasks.value = new Map();
      moving.value = new Map();
      problem.value = null;
    });
  current = board_id;
  isShown = true;
  changed.clear();
  await isFollowing;
  await readBoard(board_id);
}

export function closeBoard(): void {
  isShown = false;
}

async function readBoard(board_id: string): Promise<void> {
  earliest = Date.now() + SPACING_MS;
  try {
    const snapshot = await api.get("/api/v1/boards/{board_id}/snapshot", { params: { path: { board_id } } });
    // Parsing a large board and drawing it take two turns of the event loop, so that the page handles input in between.
    await new Promise((resolve) => setTimeout(resolve));
    if (current !== board_id) return;
    batch(() => {
      problem.value = null;
      board.value = snapshot.board;
      agents.value = new Map(snapshot.agents.map((agent) => [agent.id, agent]));
      isShortened.value = snapshot.truncated_fields?.includes("tasks") ?? false;
      replaceTasks([...snapshot.tasks, ...openTask(snapshot.tasks)]);
    });
  } catch (error) {
    if (current !== board_id) return;
    if (board.value === null || isStatus(error, 404) || isStatus(error, 403)) problem.value = messageOf(error);
    else keep("board", error);
  }
}

/** Returns the task that is open, if a shortened snapshot does not have it. */
function openTask(read: readonly Task[]): Task[] {
  const open = isShortened.value ? tasks.value.get(route.value.task_id ?? "") : undefined;
  return open && !read.some(({ id }) => id === open.id) ? [open] : [];
}

onChanges((changes) => {
  if (!isShown) return;
  if (changes === "reset") return readSoon("board");
  for (const change of changes) if (change.board_id === current) note(change);
});

function note({ type, action, id, task_id }: Change): void {
  if (type === "board") return void (action === "removed" ? (problem.value = "This board was removed.") : readSoon("board"));
  if (type === "agent") return readAgentsSoon();
  if (type === "task" && action === "removed") return removeTask(id);
  if (type === "task") return readSoon(id);
  if (type === "approval") readSoon("approvals");
  // A comment renews the lease of the agent that wrote it, so the task is read again.
  if (type === "comment" && task_id && tasks.value.get(task_id)?.lease) readSoon(task_id);
}

function readSoon(what: string): void {
  changed.add(what);
  gathering ??= setTimeout(readGathered, GATHER_MS);
}

/** Schedules another read after a failed one, unless the service refused it. */
function keep(what: string, error: unknown): void {
  const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 429;
  if (!isRefused) readSoon(what);
}

/**
 * Reads everything that has changed. Changes that arrive during these reads wait for the next call, so that an older answer never
 * replaces a newer one.
 */
async function readGathered(): Promise<void> {
  const all = [...changed];
  changed.clear();
  await readChanged(all);
  gathering = changed.size > 0 ? setTimeout(readGathered, Math.max(GATHER_MS, earliest - Date.now())) : undefined;
}

async function readChanged(all: readonly string[]): Promise<void> {
  const board_id = current;
  if (board_id === null || !isShown) return;
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
    else if (current === board_id) keep(task_id, error);
  }
}

/** Reads approvals, because cards show how many are pending. */
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

/**
 * Reads the agents' presence at most every few seconds, because agents check in often. Members may not list agents, so they read
 * the board, whose snapshot has the presence.
 */
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
