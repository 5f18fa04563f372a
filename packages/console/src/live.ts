import { effect, signal } from "@preact/signals";
import type { components } from "@board/client/api";
import { api, isStatus, reachable, refused, signedIn } from "./api.ts";

/** One entry from the stream of changes. */
export type Change = components["schemas"]["Change"];

/** "reset" means that entries may have been missed, so everything must be read again. */
type Listener = (changes: readonly Change[] | "reset") => void;

const listeners = new Set<Listener>();

export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const emit = (changes: readonly Change[] | "reset") => listeners.forEach((listener) => listener(changes));

const RETRY_MS = 1_000;
const POLL_MS = 2_000;
/** Older browsers cannot read a response body with `for await`, so they poll. */
const canStream = Symbol.asyncIterator in ReadableStream.prototype;

/** Whether the page is visible. A hidden page sends no requests. */
export const visible = signal(document.visibilityState === "visible");
document.addEventListener("visibilitychange", () => (visible.value = document.visibilityState === "visible"));

let cursor: string | null = null;
/** Whether the feed no longer has the cursor's position, so that entries may have been missed. */
let isLost = false;

let reached: () => void;
/** Resolves once the feed has a position. Data that is read after that misses no change. */
export const isFollowing = new Promise<void>((resolve) => (reached = resolve));

/**
 * Reads the changes since the last call. If they do not fit into one page, it reports a reset instead, because reading the data
 * again is less work than reading all entries.
 */
async function poll(signal: AbortSignal): Promise<void> {
  const read = (query: { cursor?: string }) => api.get("/api/v1/changes", { params: { query }, signal });
  const page = await read(cursor === null ? {} : { cursor });
  cursor = page.has_more ? (await read({})).cursor : page.cursor;
  reached();
  const isReset = page.has_more || isLost;
  isLost = false;
  // The reset follows the new position, because data that is read before it could miss a change.
  if (isReset) emit("reset");
  else if (page.changes.length > 0) emit(page.changes);
}

async function stream(signal: AbortSignal): Promise<void> {
  const header = { "Last-Event-ID": cursor! };
  for await (const { id, data } of api.stream("/api/v1/changes/stream", { params: { header }, signal })) {
    cursor = id || cursor;
    emit([data]);
  }
}

async function follow(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await poll(signal);
      if (!visible.value) return;
      if (canStream) await stream(signal);
      else await pause(POLL_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      // The person belongs to no organization, or not yet. The views find that out when they read again.
      if (isStatus(error, 404)) emit("reset");
      if (isStatus(error, 410) || isStatus(error, 422)) {
        cursor = null;
        isLost = true;
      }
      await pause(RETRY_MS, signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/**
 * Follows changes while somebody is signed in and the page is visible. A page that is hidden when it opens only reads the present
 * cursor, so that it can continue from there once it is visible.
 */
export function startLive(): void {
  effect(() => {
    // After a lost connection the stream may still look open, so it is opened again.
    void reachable.value;
    if (!signedIn.value || refused.value || (!visible.value && cursor !== null)) return;
    const stop = new AbortController();
    void follow(stop.signal);
    return () => stop.abort();
  });
}
