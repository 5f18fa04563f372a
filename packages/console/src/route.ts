import { computed, signal } from "@preact/signals";

/** The view is in the fragment, so that one file answers every address of the page. */
const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));

export type ViewName = "board" | "needs-you" | "activity" | "agents" | "webhooks" | "usage" | "start" | "home";
const VIEWS: readonly string[] = ["needs-you", "activity", "agents", "webhooks", "usage", "start"];

export interface Route {
  view: ViewName;
  board_id: string | null;
  task_id: string | null;
  run_id: string | null;
}

export const route = computed<Route>(() => {
  const parts = fragment.value.replace(/^#\/?/, "").split("/");
  const [first = "", board_id = null, third, task_id = null, fifth, run_id = null] = parts;
  const none = { task_id: null, run_id: null };
  if (first !== "boards" || !board_id) return { view: VIEWS.includes(first) ? (first as ViewName) : "home", board_id, ...none };
  if (third !== "tasks") return { view: "board", board_id, ...none };
  return { view: "board", board_id, task_id, run_id: fifth === "runs" ? run_id : null };
});

export const toBoard = (board_id: string): string => `#/boards/${board_id}`;
export const toTask = (board_id: string, task_id: string): string => `#/boards/${board_id}/tasks/${task_id}`;
export const toRun = (board_id: string, task_id: string, run_id: string): string => `${toTask(board_id, task_id)}/runs/${run_id}`;
export const toView = (view: ViewName, board_id?: string): string => `#/${view}${board_id ? `/${board_id}` : ""}`;

export function go(target: string): void {
  location.hash = target;
  // The event comes later, and the view must not wait for it.
  fragment.value = location.hash;
}

/** Replaces the address without adding an entry to the browser's history. */
export function replace(target: string): void {
  history.replaceState(null, "", target);
  fragment.value = location.hash;
}
