import { computed, signal } from "@preact/signals";

/** The fragment of the address names the view, so that the server answers every address of the console with one file. */
const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));

/** Views of the organization. Each has an address, such as `#/agents/<id>`. */
const VIEWS = [
  "overview",
  "needs-you",
  "inbox",
  "activity",
  "agents",
  "webhooks",
  "usage",
  "organization",
  "gateways",
  "skills",
  "souls",
  "personal",
  "start",
  "connect",
  "device",
] as const;
/** Views of a board, such as `#/boards/<id>/settings`. */
const BOARD_VIEWS = ["settings", "onboarding"] as const;
export type OrganizationView = (typeof VIEWS)[number];
type BoardSubview = (typeof BOARD_VIEWS)[number];
export type ViewName = OrganizationView | BoardSubview | "board" | "home";

export interface Route {
  view: ViewName;
  board_id: string | null;
  task_id: string | null;
  run_id: string | null;
  artifact_id: string | null;
  /** The parts of the address after the view's name. */
  path: readonly string[];
  /** The query after a question mark in the fragment, such as the filters of a board. */
  query: URLSearchParams;
}

const isOneOf = <Name extends string>(names: readonly Name[], name: string | undefined): name is Name =>
  names.some((candidate) => candidate === name);

export const route = computed<Route>(() => {
  const [place = "", search = ""] = fragment.value.replace(/^#\/?/, "").split("?");
  const [first = "", board_id = null, third, fourth = null, fifth, sixth = null] = place.split("/");
  const none = { task_id: null, run_id: null, artifact_id: null, query: new URLSearchParams(search) };
  const path = place.split("/").slice(1).map(decodePart);
  if (first !== "boards" || !board_id) return { view: isOneOf(VIEWS, first) ? first : "home", board_id, ...none, path };
  if (isOneOf(BOARD_VIEWS, third)) return { view: third, board_id, ...none, path: path.slice(2) };
  if (third !== "tasks") return { view: "board", board_id, ...none, path };
  const within = { run_id: fifth === "runs" ? sixth : null, artifact_id: fifth === "files" ? sixth : null };
  return { view: "board", board_id, ...none, ...within, task_id: fourth, path };
});

/** Decodes a part of the address. A malformed part stays unchanged, and the service then finds nothing with that id. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const toBoard = (board_id: string): string => `#/boards/${board_id}`;
export const toBoardView = (board_id: string, view: BoardSubview): string => `#/boards/${board_id}/${view}`;
export const toTask = (board_id: string, task_id: string): string => `#/boards/${board_id}/tasks/${task_id}`;
export const toRun = (board_id: string, task_id: string, run_id: string): string => `${toTask(board_id, task_id)}/runs/${run_id}`;
export const toFile = (board_id: string, task_id: string, artifact_id: string): string =>
  `${toTask(board_id, task_id)}/files/${artifact_id}`;
export const toView = (view: ViewName, ...path: string[]): string => `#/${[view, ...path.map(encodeURIComponent)].join("/")}`;

export function go(target: string): void {
  location.hash = target;
  // The browser's `hashchange` event comes later, and the view must not wait for it.
  fragment.value = location.hash;
}

/** Replaces the address without adding an entry to the browser's history. */
export function replace(target: string): void {
  history.replaceState(null, "", target);
  fragment.value = location.hash;
}

/** Returns the present address with a changed query. Empty values are left out. */
export function withQuery(query: URLSearchParams, change: Record<string, string>): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  return `${fragment.value.split("?")[0]}${text ? `?${text}` : ""}`;
}

/** Adds the present query to another address, so that the filters of a board stay while its cards are opened. */
export function withSameQuery(target: string): string {
  const text = route.value.query.toString();
  return text ? `${target}?${text}` : target;
}
