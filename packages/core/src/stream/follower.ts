import type { Context } from "../context/context.ts";
import type { DomainError } from "../values/errors.ts";
import { BEGINNING, type Cursor, isAfter, parseEventId } from "./cursor.ts";
import { readHorizon } from "./horizon.ts";
import type { Batch, Source, StreamEvent } from "./source.ts";

/** The connection to the client of a stream. */
export interface StreamClient {
  /** Returns false while the client reads too slowly (backpressure). Nothing is sent until the client is ready again. */
  isReady(): boolean;
  send(event: StreamEvent): void;
  /** Ends the stream, because the caller has lost access. */
  end(): void;
}

/**
 * What a caller may follow now: a source, null if there are currently no rows for the caller, or an error if the caller has lost
 * access.
 */
export type GrantResult = Source | DomainError | null;

/** The right of a caller to follow a stream, renewed at every poll. */
export interface Grant {
  /** Followers with the same key use the same credential and request the same rows, so that they share one renewal. */
  key: string;
  /** Grants of the same kind request the same rows with different credentials. */
  kind: string;
  /** Renews many grants of its kind with few statements. The results are in the order of the grants. */
  renew(grants: readonly Grant[]): Promise<GrantResult[]>;
}

/** The position of a reader in a stream. */
export interface StreamPosition {
  /** All rows up to this cursor were sent. */
  after: Cursor;
  /** If set, only rows from this time on are sent. Null if no time was requested, or once the reader has caught up. */
  since: Date | null;
  /** True if the reader has caught up and only needs the rows of the next poll. */
  isLive: boolean;
}

/** A reader of a source, with the client to which the rows are sent. */
export interface Reader extends StreamPosition {
  source: Source | null;
  readonly client: Pick<StreamClient, "isReady" | "send">;
}

export interface Follower extends Reader {
  readonly grant: Grant;
  readonly client: StreamClient;
}

/**
 * Returns where a stream starts: at `after`, else after the client's last event, else at `since`, else now. A cursor after all
 * transactions of this database comes from another database. It is ignored, because it would skip rows for a long time. Rows below
 * `horizon` can be read at once.
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
  // While an older transaction is open, the stream starts before that transaction and repeats rows that were committed since.
  // Repeated rows are better than missing the rows of that transaction.
  return { position: { after: now, since: null, isLive: true }, horizon };
}

/** Returns the cursor with which a client resumes after a reconnect; null if the client must send its `since` again. */
export const resumeCursor = ({ after }: StreamPosition): Cursor | null => (isAfter(after, BEGINNING) ? after : null);

/** Sends a reader the new events of a batch. If the client is no longer ready, the reader stops there and is no longer live. */
export function sendBatch(reader: Reader, batch: Batch): void {
  // The batch starts after the reader's position, so sending it would skip the rows in between.
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

/** Reads and sends rows for one reader, until it has caught up or its client is not ready. */
export async function catchUp(reader: Reader, read: ReadBatch): Promise<void> {
  while (!reader.isLive && reader.client.isReady()) {
    const { source } = reader;
    const batch = await read(source, reader);
    // The source of the reader may have been replaced by a renewal during the read.
    if (reader.source?.key === source?.key) sendBatch(reader, batch);
  }
}
