import { getTableName, is, SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context/context.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { rowsOf } from "./database.ts";
import { toTimestamp } from "./timestamp.ts";

/** A setting with the number of days for which rows are kept; 0 keeps them forever. */
type RetentionSetting =
  | "activity_retention_days"
  | "audit_retention_days"
  | "run_steps_retention_days"
  | "webhook_payload_retention_days";

type ReadContext = Pick<Context, "db" | "settings" | "now">;

/** How long the rows of a table are kept. */
export type Retention = {
  table: PgTable;
  days: number | RetentionSetting;
} & (PlainRetention | OwnRetention);

interface PlainRetention {
  /** The column or expression with the time from which the age of a row is measured. It has an index, unless the table is small. */
  since: PgColumn | SQL;
  /** Rows per transaction. */
  batch: number;
  /** A condition in addition to the age. */
  where?: (ctx: ReadContext, before: Date) => SQL | Promise<SQL>;
  /** Removes the rows that meet a condition. Needed where other tables must be changed as well. */
  remove?: RemoveRows;
}

/** A table whose rows are removed in a special order. */
interface OwnRetention {
  removeBefore: (ctx: Context, before: Date) => Promise<void>;
}

/** Removes the rows that meet a condition. `returning` selects from the rows `removed`. */
type RemoveRows = (ctx: Context, condition: SQL, returning: SQL) => Promise<RemovedBatch>;

/** The result of removing one batch. */
export interface RemovedBatch {
  count: number;
  /** The time of the newest removed row, where the next batch starts. */
  last: string | null;
}

/** Returns the days for which rows are kept, or 0 if they are kept forever. */
const keptDays = ({ days }: Retention, settings: Settings): number => (typeof days === "number" ? days : settings[days]);

/** Removes the rows that have been kept for longer than their retention. */
export async function removeOldRows(ctx: Context, retention: Retention): Promise<void> {
  const days = keptDays(retention, ctx.settings);
  if (days === 0) return;
  const time = addMs(ctx.now(), -days * DAY_MS);
  if ("removeBefore" in retention) return retention.removeBefore(ctx, time);
  const { table, since, batch, remove = removeFrom(table) } = retention;
  const isOld = await conditionOf(ctx, retention, time);
  const column = toSql(since);
  await removeInBatches(batch, (size, from) =>
    remove(
      ctx,
      sql`ctid = any (array(
        select ctid from ${table} where ${column} >= ${from}::timestamptz and ${isOld}
        order by ${column} limit ${size} for update skip locked))`,
      sql`count(*)::int as count, max(${column})::text as last`,
    ),
  );
}

/** Checks whether a row is still there a day after its retention ended, because the removal does not run or is too slow. */
export async function hasOverdueRows(ctx: ReadContext, retention: Retention): Promise<boolean> {
  const days = keptDays(retention, ctx.settings);
  if (days === 0 || "removeBefore" in retention) return false;
  const isOverdue = await conditionOf(ctx, retention, addMs(ctx.now(), -(days + 1) * DAY_MS));
  const result = await ctx.db.execute(sql`select 1 from ${retention.table} where ${isOverdue} limit 1`);
  return rowsOf(result).length > 0;
}

const toSql = (since: PgColumn | SQL): SQL => (is(since, SQL) ? since : sql`${sql.identifier(since.name)}`);

async function conditionOf(ctx: ReadContext, { since, where }: PlainRetention, before: Date): Promise<SQL> {
  const isOld = sql`${toSql(since)} < ${toTimestamp(before)}`;
  return where ? sql`${isOld} and ${await where(ctx, before)}` : isOld;
}

const removeFrom =
  (table: PgTable): RemoveRows =>
  async (ctx, condition, returning) => {
    const result = await ctx.db.execute(sql`
      with removed as (delete from ${sql.identifier(getTableName(table))} where ${condition} returning *)
      select ${returning} from removed`);
    return rowsOf<RemovedBatch>(result)[0]!;
  };

/** Time limit of one call. The next scheduled run removes the remaining rows. */
const MAX_RUN_MS = 20_000;

/**
 * Removes old rows in batches of `size`, oldest first. Each batch starts where the previous one ended. Until a vacuum, the index
 * still has the entries of removed rows, and a batch that started at the beginning would read all of them again.
 */
export async function removeInBatches(
  size: number,
  removeBatch: (size: number, from: string) => Promise<RemovedBatch>,
): Promise<void> {
  const start = performance.now();
  let from: string | null = "-infinity";
  while (from !== null && performance.now() - start < MAX_RUN_MS) {
    const { count, last }: RemovedBatch = await removeBatch(size, from);
    from = count < size ? null : last;
  }
}
