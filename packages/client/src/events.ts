import { ApiError } from "./error.ts";

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
  open: (last_id: string | undefined) => Promise<ReadableStream<Uint8Array>>,
  last_id: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent<unknown>> {
  let id = last_id;
  let retry_ms = RETRY_MS;
  for (;;) {
    let retry_after_ms: number | undefined;
    try {
      for await (const frame of readFrames(await open(id))) {
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

/** Whether a retry may succeed: after a network error (fetch throws a TypeError), a server error or a rate limit. */
const isTransient = (error: unknown): boolean =>
  error instanceof ApiError ? error.status >= 500 || error.status === 429 : error instanceof TypeError;

/** The fields between two blank lines of a stream. With data it is an event. */
interface Frame {
  id?: string;
  event?: string;
  data?: string;
  /** Milliseconds after which the client should reconnect. */
  retry_ms?: number;
}

async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const frames = (text + part).split("\n\n");
    text = frames.pop()!;
    yield* frames.map(toFrame);
  }
}

/** Parses one frame. Lines that begin with a colon are comments, which keep the connection alive. */
function toFrame(text: string): Frame {
  const frame: Frame = {};
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "id" || name === "event") frame[name] = value;
    if (name === "data") frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
    if (name === "retry") frame.retry_ms = Number(value);
  }
  return frame;
}

/** Waits, and rejects as soon as the signal is aborted. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal?.reason);
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  });
}
