import { createParser } from "eventsource-parser";
import { ApiError, ConnectionError } from "./error.ts";
import { sleep } from "./retry.ts";

/** An event of a stream. */
export interface StreamEvent<Data> {
  /** Position after this event. Send it as `Last-Event-ID` to resume later. */
  id: string;
  event: string;
  data: Data;
}

/** Delay before reconnecting, until the service sends another value. */
const RETRY_MS = 2_000;

/**
 * Yields the events of the stream that `open` opens after the event `last_id`. Reconnects when a connection ends or breaks,
 * and resumes after the last event. Rejects when the signal is aborted or the service returns a permanent error.
 */
export async function* follow(
  open: (last_id: string | undefined) => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>,
  last_id: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent<unknown>> {
  let id = last_id;
  let retry_ms = RETRY_MS;
  for (;;) {
    let retry_after_ms: number | undefined;
    try {
      for await (const frame of readFrames(await open(id), signal)) {
        retry_ms = frame.retry_ms ?? retry_ms;
        id = frame.id ?? id;
        if (frame.data !== undefined) yield { id: id ?? "", event: frame.event ?? "message", data: JSON.parse(frame.data) };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (error instanceof ApiError && error.retry_after_seconds !== undefined) retry_after_ms = error.retry_after_seconds * 1000;
    }
    await sleep(retry_after_ms ?? retry_ms, signal);
  }
}

/** Returns whether a retry may succeed: after a network error (a broken body is a TypeError), a server error or a rate limit. */
const isTransient = (error: unknown): boolean =>
  error instanceof ApiError
    ? error.status >= 500 || error.status === 429
    : error instanceof ConnectionError || error instanceof TypeError;

/** A parsed frame: an event, an id without data, or the time to wait before reconnecting. */
interface Frame {
  id?: string;
  event?: string | undefined;
  data?: string;
  retry_ms?: number;
}

async function* readFrames(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame> {
  let frames: Frame[] = [];
  const parser = createParser({
    // Called before `onEvent`, and also for a frame without data, with which the service names the position to resume from.
    onId: (id) => frames.push({ id }),
    onEvent: ({ event, data }) => frames.push({ event, data }),
    onRetry: (retry_ms) => frames.push({ retry_ms }),
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // The request's signal is not enough: it may be garbage collected while the body is being read, and an abort then has no effect.
  const cancel = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      const found = frames;
      frames = [];
      yield* found;
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    // Closes the connection when the caller stops reading.
    await reader.cancel().catch(() => {});
  }
}
