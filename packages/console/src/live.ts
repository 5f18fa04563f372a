import { effect, signal } from "@preact/signals";
import type { components } from "@board/client/api";
import { api, isStatus, refused, signedIn } from "./api.ts";

/** An entry of the feed of changes. */
export type Change = components["schemas"]["Change"];

/** "reset" when entries may have been missed: read everything again. */
type Listener = (changes: readonly Change[] | "reset") => void;

const listeners = new Set<Listener>();

export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const emit = (changes: readonly Change[] | "reset") => listeners.forEach((listener) => listener(changes));

const HIDDEN_POLL_MS = 60_000;
const RETRY_MS = 1_000;
const VISIBLE_POLL_MS = 2_000;
/** Older browsers cannot read an answer part by part with `for await`; they poll. */
const canStream = Symbol.asyncIterator in ReadableStream.prototype;

const visible = signal(document.visibilityState === "visible");
document.addEventListener("visibilitychange", () => (visible.value = document.visibilityState === "visible"));

let cursor: string | null = null;

let reached: () => void;
/** Resolved once the feed has a position: what is read after that misses nothing. */
export const isFollowing = new Promise<void>((resolve) => (reached = resolve));

/** Reads what happened since the last call. */
async function poll(signal: AbortSignal): Promise<void> {
  for (;;) {
    const query = cursor === null ? {} : { cursor };
    const page = await api.get("/api/v1/changes", { params: { query }, signal });
    cursor = page.cursor;
    reached();
    if (page.changes.length > 0) emit(page.changes);
    if (!page.has_more) return;
  }
}

async function stream(signal: AbortSignal): Promise<void> {
  const header = { "Last-Event-ID": cursor! };
  for await (const { id, data } of api.stream("/api/v1/changes/stream", { params: { header }, signal })) {
    cursor = id || cursor;
    emit([data]);
  }
}

async function follow(signal: AbortSignal, isVisible: boolean): Promise<void> {
  while (!signal.aborted) {
    try {
      await poll(signal);
      if (isVisible && canStream) await stream(signal);
      else await pause(isVisible ? VISIBLE_POLL_MS : HIDDEN_POLL_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isStatus(error, 404)) {
        emit("reset");
        await pause(1500, signal);
        continue;
      }
      if (isStatus(error, 410) || isStatus(error, 422)) {
        cursor = null;
        emit("reset");
      }
      await pause(RETRY_MS, signal).catch(() => {});
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

/** Follows what happens while somebody is signed in: as a stream while the page is visible, else a request a minute. */
export function startLive(): void {
  effect(() => {
    if (!signedIn.value || refused.value) return;
    const stop = new AbortController();
    void follow(stop.signal, visible.value);
    return () => stop.abort();
  });
}
