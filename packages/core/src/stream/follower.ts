import type { Context } from "../context/context.ts";
import type { DomainError } from "../values/errors.ts";
import { BEGINNING, type Cursor, isAfter, parseEventId } from "./cursor.ts";
import { readHorizon } from "./horizon.ts";
import type { Batch, Source, StreamEvent } from "./source.ts";

/** The connection to the client of a stream. */
export interface StreamClient {
  /** False while the client reads too slowly (backpressure); nothing is sent until it is ready again. */
  isReady(): boolean;
  send(event: StreamEvent): void;
  /** Ends the stream, because the caller has lost access. */
  end(): void;
}

/** What a caller may follow now: a source, null for no rows at present, or an error when access is lost. */
export type GrantResult = Source | DomainError | null;

/** The right of a caller to follow a stream, renewed at every poll. */
export interface Grant {
  /** Followers with the same key have the same credential and request the same rows, so that one renewal serves all of them. */
  key: string;
  /** Grants of the same kind request the same rows with different credentials. */
  kind: string;
  /** Renews many grants of its kind in few statements. Results are in the order of the grants. */
  renew(grants: readonly Grant[]): Promise<GrantResult[]>;
}

/** The position of a reader in a stream. */
export interface StreamPosition {
  /** Everything up to this cursor was sent. */
  after: Cursor;
  /** Only rows from this time on are sent; null after the reader has caught up for the first time. */
  since: Date | null;
  /** Whether the reader has caught up, so that it only needs the rows of the next poll. */
  isLive: boolean;
}

/** A receiver of the rows of a source. */
export interface Reader extends StreamPosition {
  source: Source | null;
  readonly client: Pick<StreamClient, "isReady" | "send">;
}

export interface Follower extends Reader {
  readonly grant: Grant;
  readonly client: StreamClient;
}

/**
 * Where a stream starts: at `after`, else after the last event of the client, else with the rows since a time, else now. A cursor above all
 * transactions is from another database and is ignored, since it would skip all rows for a long time. Also returns the
 * horizon, below which rows can be read immediately.
 */
export async function startPosition(
  ctx: Context,
  { after = null, last_event_id, since }: { after?: Cursor | null; last_event_id: string | null; since: Date | null },
): Promise<{ position: StreamPosition; horizon: bigint }> {
  const { horizon, xmax } = await readHorizon(ctx);
  const now = { tx: horizon, seq: 0n };
  if (after) return { position: { after, since: null, isLive: false }, horizon };
  const cursor = last_event_id === null ? null : (parseEventId(last_event_id)?.cursor ?? null);
  if (cursor && !isAfter(cursor, { tx: xmax, seq: 0n }))
    return { position: { after: cursor, since: null, isLive: false }, horizon };
  if (since) return { position: { after: BEGINNING, since, isLive: false }, horizon };
  // While an older transaction is open, rows that were committed already are sent again: twice is better than never.
  return { position: { after: now, since: null, isLive: true }, horizon };
}

/** The cursor with which a client resumes after a reconnect; null when it must send its `since` again. */
export const resumeCursor = ({ after }: StreamPosition): Cursor | null => (isAfter(after, BEGINNING) ? after : null);

/** Sends a reader the new events of a batch. A reader whose client is not ready stops there and is no longer live. */
export function sendBatch(reader: Reader, batch: Batch): void {
  // The batch starts after the reader's position; the rows between would be lost.
  if (isAfter(batch.after, reader.after)) return;
  for (const event of batch.events) {
    if (!isAfter(event.cursor, reader.after)) continue;
    if (!reader.client.isReady()) {
      reader.isLive = false;
      return;
    }
    reader.client.send(event);
    reader.after = event.cursor;
  }
  if (isAfter(batch.reached, reader.after)) reader.after = batch.reached;
  if (!batch.isComplete) return;
  reader.since = null;
  reader.isLive = true;
}

/** Reads the next rows of a source after a position. */
export type ReadBatch = (source: Source | null, position: Pick<StreamPosition, "after" | "since">) => Promise<Batch>;

/** Reads rows for a single reader until it has caught up or its client is not ready. */
export async function catchUp(reader: Reader, read: ReadBatch): Promise<void> {
  while (!reader.isLive && reader.client.isReady()) {
    const { source } = reader;
    const batch = await read(source, reader);
    // A renewed grant may have given the reader another source meanwhile.
    if (reader.source?.key === source?.key) sendBatch(reader, batch);
  }
}
