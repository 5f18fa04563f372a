import { hash } from "node:crypto";
import { and, asc, gt, gte, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { Context } from "../context/context.ts";
import { toJson } from "../values/json.ts";
import { BEGINNING, type Cursor, isAfter } from "./cursor.ts";

/** Where the rows of a stream come from, in commit order. */
export interface Source {
  /** Sources with the same key have the same rows, so that one poll serves all their streams. */
  readonly key: string;
  /** The organization that the rows belong to. */
  readonly organization_id: string;
  /** The event name of the stream. */
  readonly event: string;
  /**
   * Reads at most `limit` rows of a window, using `windowCondition` and `windowOrder`. If it returns fewer than `limit`, there
   * are no more rows. So filter rows in SQL and never afterwards.
   */
  read(ctx: Context, window: ReadWindow): Promise<StreamRow[]>;
}

export interface StreamRow {
  id: string;
  cursor: Cursor;
  /** The JSON value that the client receives. */
  data: unknown;
}

export interface ReadWindow {
  /** Only rows after this cursor. */
  after: Cursor;
  /** Only rows of transactions below this id. All these transactions have ended, so they add no further rows. */
  below: bigint;
  /** Only rows from this time on. */
  since: Date | null;
  limit: number;
}

/** The columns by which a stream orders and filters its rows. */
interface StreamColumns {
  tx: PgColumn;
  seq: PgColumn;
  /** The column that is compared with `since`. */
  at: PgColumn;
  /** If true, rows whose time is exactly `since` are excluded. */
  strictly?: boolean;
}

export function windowCondition({ after, below, since }: ReadWindow, { tx, seq, at, strictly = false }: StreamColumns): SQL {
  return and(
    sql`(${tx}, ${seq}) > (${String(after.tx)}::xid8, ${String(after.seq)}::bigint)`,
    sql`${tx} < ${String(below)}::xid8`,
    since === null ? undefined : strictly ? gt(at, since) : gte(at, since),
  )!;
}

/**
 * Returns the order of a window. With `since`, it is an expression without an index, so that the planner uses the index by time.
 * Otherwise the planner would read the whole history in commit order.
 */
export const windowOrder = ({ after, since }: ReadWindow, { tx, seq }: StreamColumns): SQL[] =>
  since && !isAfter(after, BEGINNING) ? [sql`(${tx}, ${seq})`] : [asc(tx), asc(seq)];

/** A row as an event, serialized once for all clients. */
export interface StreamEvent {
  id: string;
  cursor: Cursor;
  name: string;
  /** JSON without line breaks. */
  data: string;
  /** The hash of `data`. It identifies this state of the row. */
  digest: string;
}

export interface Batch {
  /** The batch contains all rows after this cursor, up to `reached`. */
  after: Cursor;
  events: StreamEvent[];
  reached: Cursor;
  /** True if there are no more rows below the horizon. */
  isComplete: boolean;
}

/** Rows per read, so that a backlog is never in memory as a whole. */
const BATCH_ROWS = 100;

/**
 * Reads the next rows of a source. Returns an empty batch without sending a statement if the horizon has not moved, as in an idle
 * database.
 */
export async function readBatch(
  ctx: Context,
  source: Source | null,
  { after, since }: { after: Cursor; since: Date | null },
  horizon: bigint,
): Promise<Batch> {
  const horizonCursor = { tx: horizon, seq: 0n };
  if (!source || after.tx >= horizon) return { after, events: [], reached: horizonCursor, isComplete: true };
  const rows = await source.read(ctx, { after, below: horizon, since, limit: BATCH_ROWS });
  const isComplete = rows.length < BATCH_ROWS;
  const events = rows.map(({ id, cursor, data }) => toEvent(source.event, id, cursor, toJson(data)));
  return { after, events, reached: isComplete ? horizonCursor : events.at(-1)!.cursor, isComplete };
}

const toEvent = (name: string, id: string, cursor: Cursor, data: string): StreamEvent => ({
  id,
  cursor,
  name,
  data,
  digest: hash("sha256", data, "base64url"),
});
