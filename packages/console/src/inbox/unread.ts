import { effect, signal } from "@preact/signals";
import { api } from "../api.ts";
import { onChanges, visible } from "../live.ts";
import { member } from "../session.ts";

/** The number of unread items in the person's inbox. The service counts at most 100. */
export const unread = signal(0);

const MAX = 99;
export const toCount = (count: number): string => (count > MAX ? `${MAX}+` : String(count));

/**
 * The count is read this long after a change, because the job that notifies people runs after the change, and because one read
 * then covers many changes.
 */
const WAIT_MS = 3_000;
const SPACING_MS = 10_000;
const REFRESH_MS = 60_000;
const CONCERNING: readonly string[] = ["approval", "comment", "task", "memory"];

/** Reads the count again. When a push message has arrived, even a hidden page does so. */
export async function refreshUnread(): Promise<void> {
  try {
    unread.value = (await api.get("/api/v1/users/me/inbox", { params: { query: { unread: true, limit: 1 } } })).unread;
  } catch {
    // A failed read does not matter: the previous count stays until the next read.
  }
}

/** Shows the count in the title of the page, and updates it while the page is visible. */
export function watchUnread(): void {
  effect(() => void (document.title = unread.value === 0 ? "Board" : `(${toCount(unread.value)}) Board`));
  effect(() => {
    if (!member.value || !visible.value) return;
    let earliest = 0;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const read = () => {
      waiting = undefined;
      earliest = Date.now() + SPACING_MS;
      void refreshUnread();
    };
    read();
    const timer = setInterval(read, REFRESH_MS);
    const unsubscribe = onChanges((changes) => {
      if (changes === "reset" || changes.some(({ type }) => CONCERNING.includes(type)))
        waiting ??= setTimeout(read, Math.max(WAIT_MS, earliest - Date.now()));
    });
    return () => {
      clearInterval(timer);
      clearTimeout(waiting);
      unsubscribe();
    };
  });
}
