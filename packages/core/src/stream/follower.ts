import type { Context } from "../context.ts";
import type { DomainError } from "../errors.ts";
import { BEGINNING, type Cursor, isBeyond, parseCursor } from "./cursor.ts";
import { type Batch, readHorizon, type Source, type StreamEvent } from "./source.ts";

/** The client's end of a stream. */
export interface Client {
  /** False while it does not keep up: nothing more is handed to it until it does. */
  ready(): boolean;
  send(event: StreamEvent): void;
  /** Its caller may not follow any longer. */
  end(): void;
}

/** What somebody may follow at a moment: a source, silence for now, or nothing any more and why. */
export type Granted = Source | DomainError | null;

/** What a caller may follow, to be asked again and again. */
export interface Grant {
  /** Followers with the same key have the same credential and ask for the same: one answer does for all of them. */
  key: string;
  /** Grants of the same kind ask for the same, with different credentials. */
  kind: string;
  /** What each of these grants, all of its kind, allows at this moment: many together are asked for in few statements. */
  renew(grants: readonly Grant[]): Promise<Granted[]>;
}

/** Where somebody stands in a stream. */
export interface Place {
  /** Everything up to here was sent. */
  after: Cursor;
  /** Until the first time that everything was sent: only rows from then on. */
  since: Date | null;
  /** Nothing is left that is older than the next poll. */
  live: boolean;
}

/** Somebody to whom the rows of a source are handed. */
export interface Reader extends Place {
  source: Source | null;
  readonly client: Pick<Client, "ready" | "send">;
}

export interface Follower extends Reader {
  readonly grant: Grant;
  readonly client: Client;
}

/**
 * Where a stream starts: after the last event that the client has, else with the rows since a time, else now. A cursor
 * beyond the horizon was made by another database and counts as none, since nothing would come for ages. Returns the
 * horizon too: what lies below can be read right away.
 */
export async function startAt(
  ctx: Context,
  { last_event_id, since }: { last_event_id: string | null; since: Date | null },
): Promise<{ place: Place; below: bigint }> {
  const below = await readHorizon(ctx);
  const now = { tx: below, seq: 0n };
  const cursor = last_event_id === null ? null : parseCursor(last_event_id);
  if (cursor && !isBeyond(cursor, now)) return { place: { after: cursor, since: null, live: false }, below };
  if (since) return { place: { after: BEGINNING, since, live: false }, below };
  // A row that an older open transaction holds back is sent although it was there already: rather twice than never.
  return { place: { after: now, since: null, live: true }, below };
}

/** Where a client that comes back goes on; null when it has to ask with its `since` again. */
export const resumeAt = ({ after }: Place): Cursor | null => (isBeyond(after, BEGINNING) ? after : null);

/** Gives a reader what is new to it. One that does not keep up stays where it is, and is no longer live. */
export function hand(reader: Reader, batch: Batch): void {
  // Rows between would be lost.
  if (isBeyond(batch.after, reader.after)) return;
  for (const event of batch.events) {
    if (!isBeyond(event.cursor, reader.after)) continue;
    if (!reader.client.ready()) {
      reader.live = false;
      return;
    }
    reader.client.send(event);
    reader.after = event.cursor;
  }
  if (isBeyond(batch.reached, reader.after)) reader.after = batch.reached;
  if (!batch.complete) return;
  reader.since = null;
  reader.live = true;
}

/** The next rows of a source beyond a place. */
export type Read = (source: Source | null, place: Pick<Place, "after" | "since">) => Promise<Batch>;

/** Reads for one alone, as long as its client keeps up, until nothing is left. */
export async function catchUp(reader: Reader, read: Read): Promise<void> {
  while (!reader.live && reader.client.ready()) {
    const { source } = reader;
    const batch = await read(source, reader);
    // Meanwhile it may have been given something else to follow.
    if (reader.source?.key === source?.key) hand(reader, batch);
  }
}
