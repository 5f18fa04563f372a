import { api } from "../api.ts";
import { tasks } from "../board/store.ts";
import { go, toTask, toView } from "../route.ts";
import { boardName, boards, isAdmin } from "../session.ts";
import type { Target } from "./jump.tsx";

const AGENT_LIMIT = 200;
const TASK_LIMIT = 5;
/**
 * The maximum number of boards that are searched in addition to the open one. The tasks of any other board are found once it is
 * open.
 */
const MAX_BOARDS = 12;

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

/** Finds tasks by their title. Tasks of the open board are already loaded; the service searches the other boards. */
export async function searchTasks(query: string, signal: AbortSignal): Promise<Target[]> {
  const open = [...tasks.value.values()];
  const here = open.filter(({ title }) => title.toLowerCase().includes(query)).slice(0, TASK_LIMIT);
  const others = (boards.value ?? []).filter(({ id }) => id !== open[0]?.board_id).slice(0, MAX_BOARDS);
  const pages = await Promise.all(
    others.map(({ id }) =>
      api.get("/api/v1/boards/{board_id}/tasks", {
        params: { path: { board_id: id }, query: { q: query, limit: TASK_LIMIT } },
        signal,
      }),
    ),
  );
  return [...here, ...pages.flatMap(({ items }) => items)].map(toTarget);
}
