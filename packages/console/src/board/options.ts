import { computed } from "@preact/signals";
import { replace, route, withQuery } from "../route.ts";
import type { Status, Task } from "../types.ts";

/**
 * How a board is shown. The options are kept in the address, so that a view can be linked to, bookmarked and reached with the
 * back button.
 */
interface BoardOptions {
  text: string;
  agent: string;
  tag: string;
  priority: string;
  sort: SortName;
  isList: boolean;
}

export const SORT_NAMES = {
  work: "Order of work",
  due: "Due first",
  updated: "Newest change",
  created: "Newest",
  title: "Title",
} as const;
type SortName = keyof typeof SORT_NAMES;

export const options = computed<BoardOptions>(() => {
  const { query } = route.value;
  const get = (name: string) => query.get(name) ?? "";
  const sort = get("sort");
  return {
    text: get("q"),
    agent: get("agent"),
    tag: get("tag"),
    priority: get("priority"),
    sort: sort in SORT_NAMES ? (sort as SortName) : "work",
    isList: get("view") === "list",
  };
});

/** Changes options without adding an entry to the browser's history, because typing would add many. */
export const choose = (change: Record<string, string>): void => replace(withQuery(route.value.query, change));

export const isFiltered = computed(() => {
  const { text, agent, tag, priority } = options.value;
  return Boolean(text.trim() || agent || tag || priority);
});

const NOBODY = "nobody";

/** Whether a task matches all of the filters. */
export function matches(task: Task, { text, agent, tag, priority }: BoardOptions): boolean {
  if (agent && (agent === NOBODY ? task.assigned_agent_id !== null : task.assigned_agent_id !== agent)) return false;
  if (tag && !task.tag_ids.includes(tag)) return false;
  if (priority && task.priority !== priority) return false;
  const part = text.trim().toLowerCase();
  if (!part) return true;
  const values = [task.title, task.assignee ?? "", task.priority, ...task.tags.map(({ name }) => name)];
  return values.some((value) => value.toLowerCase().includes(part));
}

const RANKS: Record<string, number> = { high: 0, medium: 1, low: 2 };
const rankOf = ({ priority }: Task) => RANKS[priority.toLowerCase()] ?? 3;
const LAST = "9";
const byText = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
const byDue = (one: Task, other: Task) => byText(one.due_at ?? LAST, other.due_at ?? LAST);

/** Compares two tasks in the order in which agents take work. */
const byWork = (one: Task, other: Task) =>
  rankOf(one) - rankOf(other) || byDue(one, other) || byText(one.created_at, other.created_at) || byText(one.id, other.id);

/** Compares tasks of a column. In the order of work, done tasks are sorted from newest to oldest. */
export function comparing(sort: SortName, status?: Status): (one: Task, other: Task) => number {
  if (sort === "due") return (one, other) => byDue(one, other) || byWork(one, other);
  if (sort === "created") return (one, other) => byText(other.created_at, one.created_at);
  if (sort === "title") return (one, other) => one.title.localeCompare(other.title);
  if (sort === "updated" || status === "done") return (one, other) => byText(other.updated_at, one.updated_at);
  return byWork;
}
