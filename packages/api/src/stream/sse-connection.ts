import { type Cursor, formatEventId } from "@board/core/stream/cursor";
import type { StreamClient } from "@board/core/stream/follower";
import type { StreamEvent } from "@board/core/stream/source";

/** Headers of every stream (docs/reference/streams.md#wire-format). */
export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

export const PING_MS = 15_000;
const PING = ": ping\n\n";

export const formatEvent = ({ cursor, name, data }: StreamEvent, organization_id: string | null = null): string =>
  `id: ${formatEventId(cursor, organization_id)}\nevent: ${name}\ndata: ${data}\n\n`;

/**
 * Tells the client when to reconnect and where to resume. A client stores the id of a frame without data, but does not dispatch an
 * event.
 */
export const formatRetry = (resume: Cursor | null, retry_ms: number, organization_id: string | null): string =>
  `${resume ? `id: ${formatEventId(resume, organization_id)}\n` : ""}retry: ${retry_ms}\n\n`;

const DEDUPE_EVENTS = 2_000;

/**
 * Returns a function that tells whether an event is new to one connection: it was not sent on this connection recently, or it has
 * changed since.
 */
export function createDeduplicator(): (event: StreamEvent) => boolean {
  const sent = new Map<string, string>();
  return ({ id, digest }) => {
    if (sent.get(id) === digest) return false;
    sent.delete(id);
    sent.set(id, digest);
    if (sent.size > DEDUPE_EVENTS) sent.delete(sent.keys().next().value!);
    return true;
  };
}

/** How many bytes may be buffered for one client. Above this, its stream pauses until the client has read some. */
const MAX_BUFFERED_BYTES = 65_536;

const encoder = new TextEncoder();

/** Encoded frames by event, so that an event is encoded once for all clients that follow it in the same organization. */
const encodedEvents = new WeakMap<StreamEvent, Uint8Array>();

function encodeEvent(event: StreamEvent, organization_id: string | null): Uint8Array {
  const cached = encodedEvents.get(event);
  if (cached) return cached;
  const bytes = encoder.encode(formatEvent(event, organization_id));
  encodedEvents.set(event, bytes);
  return bytes;
}

/** The connection of one client: the body of its response, and the target to which the hub sends events. */
export interface Connection extends StreamClient {
  body: ReadableStream<Uint8Array>;
  /** Ends the body. If `lastFrame` is given, it is written first. */
  close(lastFrame?: string): void;
}

interface ConnectionHandlers {
  onWritable(): void;
  /** The body ends only after the returned promise is settled, because on AWS the process is frozen when the response ends. */
  onClosed(): Promise<void>;
}

/** Opens a connection. If the stream belongs to an organization, its event ids contain `organization_id`. */
export function openConnection(ping_ms: number, on: ConnectionHandlers, organization_id: string | null = null): Connection {
  const isNew = createDeduplicator();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let open = true;
  /** Events of the current turn of the event loop. They are written to the socket as one chunk. */
  let pendingChunks: Uint8Array[] = [];
  let pending_bytes = 0;

  const isReady = () => {
    if (!open) return false;
    // If the client reads as fast as the stream writes, flushing may free space at once.
    if (controller.desiredSize! <= pending_bytes) flush();
    return controller.desiredSize! > 0;
  };
  const write = (text: string) => controller.enqueue(encoder.encode(text));
  const enqueueChunk = (bytes: Uint8Array) => {
    if (pendingChunks.length === 0) queueMicrotask(flush);
    pendingChunks.push(bytes);
    pending_bytes += bytes.length;
  };
  const flush = () => {
    if (open && pendingChunks.length > 0)
      controller.enqueue(pendingChunks.length === 1 ? pendingChunks[0]! : Buffer.concat(pendingChunks));
    pendingChunks = [];
    pending_bytes = 0;
  };
  const ping = setInterval(() => isReady() && write(PING), ping_ms).unref();
  let isCancelled = false;
  const markClosed = () => {
    open = false;
    clearInterval(ping);
    return on.onClosed();
  };
  const close = (lastFrame = "") => {
    if (!open) return;
    flush();
    const closed = markClosed();
    if (lastFrame) write(lastFrame);
    void closed.then(() => {
      if (!isCancelled) controller.close();
    });
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (streamController) => {
        controller = streamController;
        // Lambda sends the headers with the first write. An empty chunk is written at once, because it may take long until the
        // first event.
        controller.enqueue(new Uint8Array());
      },
      pull: () => on.onWritable(),
      cancel: () => {
        isCancelled = true;
        if (open) void markClosed();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_BUFFERED_BYTES }),
  );
  return {
    body,
    isReady,
    send: (event) => isNew(event) && enqueueChunk(encodeEvent(event, organization_id)),
    end: () => close(),
    close,
  };
}
