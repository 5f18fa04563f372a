import { ApiError } from "./error.ts";

/** Something that happened, as a stream tells it. */
export interface StreamEvent<Data> {
  /** Where the stream goes on after this event: kept, it is the `Last-Event-ID` of another day. */
  id: string;
  event: string;
  data: Data;
}

/** How long to wait before a stream is opened again, until the service names another time. */
const RETRY_MS = 2_000;

/**
 * The events of a stream that `open` opens, after the event named to it. A connection that ends or breaks is opened again
 * after the last event that came. Ends by rejection: when the signal is aborted, or the service refuses.
 */
export async function* follow(
  open: (last_id: string | undefined) => Promise<ReadableStream<Uint8Array>>,
  last_id: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent<unknown>> {
  let id = last_id;
  let retry_ms = RETRY_MS;
  for (;;) {
    let wait_ms: number | undefined;
    try {
      for await (const frame of readFrames(await open(id))) {
        retry_ms = frame.retry_ms ?? retry_ms;
        id = frame.id ?? id;
        if (frame.data !== undefined) yield { id: id ?? "", event: frame.event ?? "message", data: JSON.parse(frame.data) };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(error)) throw error;
      if (error instanceof ApiError && error.retry_after_seconds !== undefined) wait_ms = error.retry_after_seconds * 1000;
    }
    await pause(wait_ms ?? retry_ms, signal);
  }
}

/** Whether it may be better the next time: the network (fetch says TypeError), or a service that is not up or has no room. */
const isPassing = (error: unknown): boolean =>
  error instanceof ApiError ? error.status >= 500 || error.status === 429 : error instanceof TypeError;

/** What stands between two blank lines of a stream. With data it is an event. */
interface Frame {
  id?: string;
  event?: string;
  data?: string;
  /** After how many milliseconds the service wants to see its client again. */
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

/** Lines that begin with a colon say nothing: they keep the connection awake. */
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

/** Waits; rejects as soon as the signal is aborted. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
