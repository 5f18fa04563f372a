import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { System } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { boards } from "../schema/board.sql.ts";
import { rowsOf } from "./database.ts";
import { withLockTimeoutRetry } from "./retry-transaction.ts";

/** Rows per transaction. It is small, so that a removal never waits long for the transaction. */
const BATCH_SIZE = 5_000;
/** Batches per run. The next run counts the remaining rows; until then, readers count them in the log. */
const MAX_BATCHES = 200;
/** Boards per transaction whose derived counts are created. A board may have years of counts. */
const BOARDS_PER_BATCH = 50;

/**
 * A log that is counted incrementally: a schedule adds new rows to tables of counts, in commit order, by `tx` and then by id. The
 * position of the last counted row is stored in a table with one row. A figure is the sum of the counts and of the rows that are
 * not counted yet. One statement reads both: between two statements, a count or removal could change one part.
 */
export interface CountedLog {
  /** A condition on a row of the log, named by `alias`: whether the counts include it. */
  isCounted: SQL;
  /**
   * A condition on a row of the log, named by `alias`: whether the counts do not include it yet. It gives both bounds of `tx`,
   * because then the planner expects few rows. With one bound it expects a third of the log.
   */
  isUncounted: SQL;
  /**
   * Locks the counts until the transaction ends. Acquire the lock before reading rows to count. Otherwise a row that is removed at
   * the same time could remain in the counts.
   */
  lock(ctx: Context): Promise<void>;
  /**
   * An expression that takes the lock in shared mode when it is selected. The transaction may then remove rows. Several
   * transactions can hold the shared lock at once, and no rows are counted until all of them have ended.
   */
  sharedLock: SQL<unknown>;
  /** Adds new rows to the counts, batch by batch. Then it creates the derived counts of boards with new rows that have none yet. */
  countNew: (ctx: Context<System>, max_batches?: number) => Promise<void>;
}

interface LogOptions {
  table: PgTable;
  alias: string;
  id: string;
  /** The table of the position, with the columns `only`, `tx` and `position.id`. `position.first` is smaller than every id. */
  position: { table: PgTable; id: string; first: string };
  /** The key of the advisory lock on the counts. The number is arbitrary but fixed. */
  lock_key: number;
  /** The columns of the log's rows that are read. */
  columns: SQL;
  /** CTEs that write the counts of the rows in `fresh`. Only rows whose board is in `locked_board` may be counted. */
  writes: SQL;
  /** A condition on `board`: whether its derived counts exist. `locked_board` has the result as `is_complete`. */
  isComplete: SQL;
  /** Returns the statement that inserts the derived counts of each `board`. It runs after all batches and can use their counts. */
  complete(isUncounted: SQL): SQL;
}

interface CountedBatch {
  total: number;
  /** The boards of the batch whose derived counts do not exist. */
  incomplete: string[];
}

export function countedLog(options: LogOptions): CountedLog {
  const { table, alias, id, position, lock_key, columns, writes, isComplete } = options;
  const idOf = (row: string) => sql`${sql.identifier(row)}.${sql.identifier(id)}`;
  const txOf = (row: string) => sql`${sql.identifier(row)}.tx`;
  const position_id = sql.identifier(position.id);
  const last_tx = sql`coalesce((select tx from ${position.table}), '0'::xid8)`;
  const last_id = sql`coalesce((select ${position_id} from ${position.table}), ${sql.raw(position.first)})`;

  const isCounted = sql`(${txOf(alias)}, ${idOf(alias)}) <= (${last_tx}, ${last_id})`;
  const isUncounted = sql`${txOf(alias)} >= ${last_tx} and ${txOf(alias)} <= '18446744073709551615'::xid8
    and (${txOf(alias)}, ${idOf(alias)}) > (${last_tx}, ${last_id})`;
  const lock = async (ctx: Context) => void (await ctx.db.execute(sql`select pg_advisory_xact_lock(${lock_key})`));

  /**
   * Counts the next rows, up to the oldest open transaction, so that a row that is committed later always comes after the stored
   * position. The lock on the boards prevents their removal between reading their rows and writing their counts.
   */
  const countBatch = async (ctx: Context): Promise<CountedBatch> => {
    await lock(ctx);
    const result = await ctx.db.execute(sql`
      with fresh as materialized (
        select ${columns} from ${table} as ${sql.identifier(alias)}
        where ${isUncounted} and ${txOf(alias)} < pg_snapshot_xmin(pg_current_snapshot())
        order by ${txOf(alias)}, ${idOf(alias)} limit ${BATCH_SIZE}
      ), locked_board as (
        select id, ${isComplete} as is_complete from ${boards} as board
        where id in (select board_id from fresh) order by id for key share
      ), ${writes}, moved as (
        insert into ${position.table} (tx, ${position_id}) select tx, ${sql.identifier(id)} from fresh
        order by tx desc, ${sql.identifier(id)} desc limit 1
        on conflict ("only") do update set tx = excluded.tx, ${position_id} = excluded.${position_id}
      )
      select count(*)::int as total, array(select id from locked_board where not is_complete) as incomplete from fresh`);
    return rowsOf<CountedBatch>(result)[0]!;
  };

  const completeBoards = async (ctx: Context, board_ids: readonly string[]): Promise<void> => {
    await lock(ctx);
    await ctx.db.execute(sql`
      with board as materialized (
        select id from ${boards} as board where id = any(${sql.param(board_ids)}::uuid[]) and not ${isComplete}
        order by id for key share
      ), completed as (${options.complete(isUncounted)})
      select count(*) from board`);
  };

  return {
    isCounted,
    isUncounted,
    lock,
    sharedLock: sql<unknown>`pg_advisory_xact_lock_shared(${lock_key})`,
    async countNew(ctx, max_batches = MAX_BATCHES) {
      const incomplete = new Set<string>();
      for (let batch = 0; batch < max_batches; batch++) {
        const counted = await withLockTimeoutRetry(ctx, countBatch);
        for (const board_id of counted.incomplete) incomplete.add(board_id);
        if (counted.total < BATCH_SIZE) break;
      }
      const ids = [...incomplete];
      for (let at = 0; at < ids.length; at += BOARDS_PER_BATCH)
        await withLockTimeoutRetry(ctx, (ctx) => completeBoards(ctx, ids.slice(at, at + BOARDS_PER_BATCH)));
    },
  };
}
