import { api, messageOf } from "../api.ts";
import { tasks } from "../board/store.ts";
import { go, route, toTask, toView } from "../route.ts";
import { boardName, boards, isAdmin } from "../session.ts";
import type { Target } from "./jump.tsx";

const AGENT_LIMIT = 200;
const TASK_LIMIT = 5;
/**
 * The service searches the tasks of one board at a time, so this many other boards are searched while the person types. The rest
 * are searched when the person asks for it.
 */
export const MAX_BOARDS = 12;

/** Returns the agents, or nothing for members, because only owners and admins can open the pages of agents. */
export async function readAgents(): Promise<Target[]> {
  if (!isAdmin.value) return [];
  const { items } = await api.get("/api/v1/agents", { params: { query: { limit: AGENT_LIMIT } } });
  return items.map(({ id, name }) => ({ key: id, kind: "Agent", label: name, act: () => go(toView("agents", id)) }));
}

const toTarget = ({ id, board_id, title }: { id: string; board_id: string; title: string }): Target => ({
  key: id,
  kind: "Task",
  label: `${title} · ${boardName(board_id)}`,
  act: () => go(toTask(board_id, id)),
});

export interface FoundTasks {
  targets: Target[];
  /** Number of boards that were searched. */
  searched: number;
  /** Why the first of the other boards was not searched. */
  error: string | null;
}

/**
 * Finds tasks by their title. Tasks of the open board are already loaded; the service searches at most `max_boards` other boards,
 * a few at a time.
 */
export async function searchTasks(query: string, max_boards: number, signal: AbortSignal): Promise<FoundTasks> {
  const { view, board_id } = route.value;
  // While another view is shown, the loaded tasks of a board are not kept up to date.
  const open_id = view === "board" ? board_id : null;
  const open = [...tasks.value.values()].filter((task) => task.board_id === open_id);
  const here = open.filter(({ title }) => title.toLowerCase().includes(query)).slice(0, TASK_LIMIT);
  const others = (boards.value ?? []).filter(({ id }) => id !== open_id).slice(0, max_boards);
  const found = here.map(toTarget);
  let searched = open_id === null ? 0 : 1;
  let error: string | null = null;
  for (let at = 0; at < others.length && !signal.aborted; at += MAX_BOARDS) {
    const answers = await Promise.allSettled(others.slice(at, at + MAX_BOARDS).map(({ id }) => searchBoard(id, query, signal)));
    for (const answer of answers) {
      if (answer.status === "rejected") error ??= messageOf(answer.reason);
      else {
        searched++;
        found.push(...answer.value.map(toTarget));
      }
    }
  }
  return { targets: found, searched, error };
}

async function searchBoard(board_id: string, query: string, signal: AbortSignal) {
  const params = { path: { board_id }, query: { q: query, limit: TASK_LIMIT } };
  return (await api.get("/api/v1/boards/{board_id}/tasks", { params, signal })).items;
}
