import { hash } from "node:crypto";
import { and, asc, gt, gte, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { toJson } from "../json.ts";
import { BEGINNING, type Cursor, isBeyond } from "./cursor.ts";

/** What a stream shows: rows in the order in which they were committed. */
export interface Source {
  /** Streams with the same key show the same rows, so that one poll does for all of them. */
  readonly key: string;
  /** Name of its events. */
  readonly event: string;
  /**
   * The rows of a window: condition and order as `within` and `inOrder` write them, at most `limit`. Fewer than that
   * says that there are no more, so rows are left out in SQL and never afterwards.
   */
  read(ctx: Context, window: Window): Promise<Item[]>;
}

export interface Item {
  id: string;
  cursor: Cursor;
  /** What the client gets, as JSON. */
  data: unknown;
}

export interface Window {
  /** Only rows beyond this place. */
  after: Cursor;
  /** Only rows of transactions below this one; all of those have ended, so none of their rows can still turn up. */
  below: bigint;
  /** Only rows from then on. */
  since: Date | null;
  limit: number;
}

/** The columns that a stream goes by. */
export interface Order {
  tx: PgColumn;
  seq: PgColumn;
  /** What `since` is held against. */
  at: PgColumn;
  /** `since` itself is left out. */
  strictly?: boolean;
}

export function within({ after, below, since }: Window, { tx, seq, at, strictly = false }: Order): SQL {
  return and(
    sql`(${tx}, ${seq}) > (${String(after.tx)}::xid8, ${String(after.seq)}::bigint)`,
    sql`${tx} < ${String(below)}::xid8`,
    since === null ? undefined : strictly ? gt(at, since) : gte(at, since),
  )!;
}

/**
 * Where a time picks the first rows, the order is written so that no index has it: the planner would walk the whole
 * history in commit order, when the index by time has the few rows that are wanted.
 */
export const inOrder = ({ after, since }: Window, { tx, seq }: Order): SQL[] =>
  since && !isBeyond(after, BEGINNING) ? [sql`(${tx}, ${seq})`] : [asc(tx), asc(seq)];

/** The oldest transaction still open: of all before it every row can be seen. */
export async function readHorizon(ctx: Context): Promise<bigint> {
  const found = await ctx.db.execute(sql`select pg_snapshot_xmin(pg_current_snapshot())::text as horizon`);
  return BigInt(rowsOf<{ horizon: string }>(found)[0]!.horizon);
}

/** A row on its way to clients: made once, for all of them. */
export interface StreamEvent {
  id: string;
  cursor: Cursor;
  name: string;
  /** JSON on one line. */
  data: string;
  /** Tells this state of the row from others. */
  digest: string;
}

export interface Batch {
  /** Nothing is missing between this place and `reached`. */
  after: Cursor;
  events: StreamEvent[];
  reached: Cursor;
  /** There is no more below the horizon. */
  complete: boolean;
}

/** Rows are read in portions of this many, so that no backlog is ever held in memory. */
const BATCH_ROWS = 100;

/**
 * The next rows of a source; silence has none. With nothing to expect it costs no statement: an idle database has an
 * idle horizon.
 */
export async function readBatch(
  ctx: Context,
  source: Source | null,
  { after, since }: { after: Cursor; since: Date | null },
  below: bigint,
): Promise<Batch> {
  const horizon = { tx: below, seq: 0n };
  if (!source || after.tx >= below) return { after, events: [], reached: horizon, complete: true };
  const items = await source.read(ctx, { after, below, since, limit: BATCH_ROWS });
  const complete = items.length < BATCH_ROWS;
  const events = items.map(({ id, cursor, data }) => toEvent(source.event, id, cursor, toJson(data)));
  return { after, events, reached: complete ? horizon : events.at(-1)!.cursor, complete };
}

const toEvent = (name: string, id: string, cursor: Cursor, data: string): StreamEvent => ({
  id,
  cursor,
  name,
  data,
  digest: hash("sha256", data, "base64url"),
});
