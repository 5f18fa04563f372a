import { STATUSES, type Status } from "../types.ts";
import { columns, moveTask, tasks } from "./store.ts";

const cardOf = (task_id: string) => document.querySelector<HTMLElement>(`.board [data-task="${CSS.escape(task_id)}"]`);

/** Focuses a card after it is drawn. A card that moves is drawn again in its new column. */
export function focusCard(task_id: string): void {
  requestAnimationFrame(() => cardOf(task_id)?.focus());
}

function placeOf(task_id: string): { status: Status; index: number } | null {
  for (const status of STATUSES) {
    const index = columns.value[status].findIndex((task) => task.id === task_id);
    if (index >= 0) return { status, index };
  }
  return null;
}

/** Returns the card to focus in the nearest column, to the left or to the right, that has cards. */
function neighbourOf({ status, index }: { status: Status; index: number }, step: 1 | -1): string | null {
  for (let at = STATUSES.indexOf(status) + step; at >= 0 && at < STATUSES.length; at += step) {
    const list = columns.value[STATUSES[at]!];
    if (list.length > 0) return list[Math.min(index, list.length - 1)]!.id;
  }
  return null;
}

async function move(task_id: string, status: Status | undefined): Promise<void> {
  const task = tasks.value.get(task_id);
  if (!task || !status) return;
  const moved = moveTask(task, status);
  focusCard(task_id);
  if (!(await moved)) focusCard(task_id);
}

/** Handles a key press on a card. Returns false if the key has no meaning there. */
export function handleCardKey(event: KeyboardEvent, mayWrite: boolean): boolean {
  const task_id = (event.target as Element).closest<HTMLElement>(".board [data-task]")?.dataset["task"];
  const place = task_id ? placeOf(task_id) : null;
  if (!task_id || !place || event.ctrlKey || event.metaKey || event.altKey) return false;
  const at = STATUSES.indexOf(place.status);
  const list = columns.value[place.status];
  if (mayWrite && (event.shiftKey || /^[1-5]$/.test(event.key))) {
    const target: Record<string, Status | undefined> = { ArrowRight: STATUSES[at + 1], ArrowLeft: STATUSES[at - 1] };
    const status = /^[1-5]$/.test(event.key) ? STATUSES[Number(event.key) - 1] : target[event.key];
    if (!status) return false;
    void move(task_id, status);
    return true;
  }
  const next: Record<string, string | null | undefined> = {
    ArrowDown: list[place.index + 1]?.id,
    ArrowUp: list[place.index - 1]?.id,
    ArrowRight: neighbourOf(place, 1),
    ArrowLeft: neighbourOf(place, -1),
    Home: list[0]?.id,
    j: list[place.index + 1]?.id,
    k: list[place.index - 1]?.id,
  };
  const goal = next[event.key];
  if (!goal) return event.key in next;
  cardOf(goal)?.focus();
  return true;
}

/** Focuses the first card of the board when nothing is focused yet. */
export function focusFirstCard(): boolean {
  const first = STATUSES.map((status) => columns.value[status][0]).find(Boolean);
  if (!first) return false;
  focusCard(first.id);
  return true;
}
