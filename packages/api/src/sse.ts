import { type Cursor, formatCursor } from "@board/core/stream/cursor";
import type { Client } from "@board/core/stream/follower";
import type { StreamEvent } from "@board/core/stream/source";

/** The wire format of every stream (contract activity-metrics.md §5). */
export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

export const PING_MS = 15_000;
const PING = ": ping\n\n";

export const frame = ({ cursor, name, data }: StreamEvent): string =>
  `id: ${formatCursor(cursor)}\nevent: ${name}\ndata: ${data}\n\n`;

/** Tells the client when to come back, and from where on; an id without data is remembered and shows no event. */
export const farewell = (resume: Cursor | null, retry_ms: number): string =>
  `${resume ? `id: ${formatCursor(resume)}\n` : ""}retry: ${retry_ms}\n\n`;

const REMEMBERED = 2_000;

/** Tells whether an event is news to one connection: its row was not sent among the last ones, or has changed since. */
export function createMemory(): (event: StreamEvent) => boolean {
  const sent = new Map<string, string>();
  return ({ id, digest }) => {
    if (sent.get(id) === digest) return false;
    sent.delete(id);
    sent.set(id, digest);
    if (sent.size > REMEMBERED) sent.delete(sent.keys().next().value!);
    return true;
  };
}

/** What may wait for one client; beyond it the client is slow, and its stream stands still until it has read. */
const MAX_WAITING_BYTES = 65_536;

const encoder = new TextEncoder();

/** Frames as they go out: made once, however many clients get them. */
const frames = new WeakMap<StreamEvent, Uint8Array>();

function encoded(event: StreamEvent): Uint8Array {
  const known = frames.get(event);
  if (known) return known;
  const bytes = encoder.encode(frame(event));
  frames.set(event, bytes);
  return bytes;
}

/** The body of a stream, and its client as the hub sees it. */
export interface Connection extends Client {
  body: ReadableStream<Uint8Array>;
  /** Says a last word and ends the body. */
  close(farewell?: string): void;
}

export function openConnection(ping_ms: number, on: { room(): void; gone(): void }): Connection {
  const isNew = createMemory();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let open = true;
  /** Events of one moment, which go out as one piece: a socket is written to once. */
  let gathered: Uint8Array[] = [];
  let gathered_bytes = 0;

  const ready = () => {
    if (!open) return false;
    // Whoever reads as fast as is written has room again at once.
    if (controller.desiredSize! <= gathered_bytes) flush();
    return controller.desiredSize! > 0;
  };
  const write = (text: string) => controller.enqueue(encoder.encode(text));
  const gather = (bytes: Uint8Array) => {
    if (gathered.length === 0) queueMicrotask(flush);
    gathered.push(bytes);
    gathered_bytes += bytes.length;
  };
  const flush = () => {
    if (open && gathered.length > 0) controller.enqueue(gathered.length === 1 ? gathered[0]! : Buffer.concat(gathered));
    gathered = [];
    gathered_bytes = 0;
  };
  const ping = setInterval(() => ready() && write(PING), ping_ms).unref();
  const over = () => {
    open = false;
    clearInterval(ping);
    on.gone();
  };
  const close = (last = "") => {
    if (!open) return;
    flush();
    over();
    if (last) write(last);
    controller.close();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
        // Lambda sends the headers with the first write, and the first event may be long in coming.
        controller.enqueue(new Uint8Array());
      },
      pull: () => on.room(),
      cancel: () => {
        if (open) over();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING_BYTES }),
  );
  return {
    body,
    ready,
    send: (event) => isNew(event) && gather(encoded(event)),
    end: () => close(),
    close,
  };
}
