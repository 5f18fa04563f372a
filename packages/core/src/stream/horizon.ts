import { sql } from "drizzle-orm";
import { memoPerApp } from "../context/app-memo.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";

/**
 * How long a transaction may hold the horizon back, in milliseconds, before the service checks which database it belongs to. The
 * check costs more than reading the horizon.
 */
const GRACE_MS = 5_000;
/** Transactions of this database that are open for longer than this are logged. */
const LOG_AFTER_SECONDS = 10;

export interface Horizon {
  /** All transactions below this id that may write rows of this database have ended, so all their rows are visible. */
  horizon: bigint;
  /** The id after the newest transaction that has ended. No visible row has this id or a higher one. */
  xmax: bigint;
}

/**
 * Reads the horizon of a snapshot. All databases of a cluster share transaction ids, so an open transaction of any database holds
 * the horizon back. If a transaction does this for long, `readOwnHorizon` checks whether it belongs to this database.
 */
export async function readHorizon(ctx: Context): Promise<Horizon> {
  const found = await selectHorizon(ctx.db).execute({});
  const row = rowsOf<{ xmin: string; xmax: string }>(found)[0]!;
  const [xmin, xmax] = [BigInt(row.xmin), BigInt(row.xmax)];
  const { snapshot } = holdsOf(ctx);
  if (secondsHeld(ctx, snapshot, xmin < xmax ? xmin : null) * 1000 < GRACE_MS) return { horizon: xmin, xmax };
  const { horizon, holder } = await readOwnHorizon(ctx);
  if (holder) logHolder(ctx, horizon, holder);
  return { horizon, xmax };
}

const selectHorizon = preparedQuery(
  () => sql`select pg_snapshot_xmin(pg_current_snapshot())::text as xmin, pg_snapshot_xmax(pg_current_snapshot())::text as xmax`,
);

/** The transaction that holds a horizon back while newer transactions end, and since when this app has seen it do so. */
interface Hold {
  at: { id: bigint; since: number } | null;
}

/**
 * Returns what holds the horizon back: the oldest transaction of the database cluster, and the oldest one of this database. It also
 * remembers the last transaction that was logged.
 */
const holdsOf = memoPerApp((): { snapshot: Hold; own: Hold; logged: bigint | null } => ({
  snapshot: { at: null },
  own: { at: null },
  logged: null,
}));

function secondsHeld(ctx: Context, hold: Hold, id: bigint | null): number {
  const now = ctx.now().getTime();
  if (id === null) hold.at = null;
  else if (hold.at?.id !== id) hold.at = { id, since: now };
  return hold.at === null ? 0 : (now - hold.at.since) / 1000;
}

/** The session or prepared transaction that holds the horizon back. A field is null if the service's role may not see it. */
interface HorizonHolder {
  pid: number | null;
  application_name: string | null;
  state: string | null;
  prepared_transaction: string | null;
  /** Seconds since the transaction began, or since it was first seen if its start is hidden. */
  age_seconds: number;
}

type HolderRow = HorizonHolder & { xmax: string; id: string | null };

/**
 * Reads the horizon without transactions of other databases, which cannot write rows of this one. The snapshot lists the open
 * transactions, the lock on each id shows its process, and the process shows its database. A transaction whose database is
 * unknown counts as one of this database. Must not run in a transaction.
 */
export async function readOwnHorizon(ctx: Context): Promise<{ horizon: bigint; holder: HorizonHolder | null }> {
  const found = await ctx.db.execute(sql`
    select pg_snapshot_xmax(pg_current_snapshot())::text as xmax, oldest.*
    from (select 1) as one left join lateral (
      select transaction.id::text as id, session.pid, left(session.application_name, 100) as application_name, session.state,
        left(prepared.gid, 100) as prepared_transaction,
        extract(epoch from clock_timestamp() - coalesce(session.xact_start, prepared.prepared))::float8 as age_seconds
      from pg_snapshot_xip(pg_current_snapshot()) as transaction(id)
      left join pg_locks as lock on lock.locktype = 'transactionid' and lock.mode = 'ExclusiveLock' and lock.granted
        and lock.transactionid = transaction.id::xid
      left join pg_stat_activity as session on session.pid = lock.pid
      left join pg_prepared_xacts as prepared on prepared.transaction = transaction.id::xid
      where coalesce(session.datname, prepared.database, current_database()) = current_database()
      order by transaction.id limit 1
    ) as oldest on true`);
  const { xmax, id, age_seconds, pid, application_name, state, prepared_transaction } = rowsOf<HolderRow>(found)[0]!;
  const observed = observeOwn(ctx, id === null ? null : BigInt(id));
  if (id === null) return { horizon: BigInt(xmax), holder: null };
  const age = Math.max(age_seconds, observed);
  return { horizon: BigInt(id), holder: { pid, application_name, state, prepared_transaction, age_seconds: age } };
}

/**
 * Returns for how many seconds this app has seen the transaction as the oldest one of this database. If the app saw it earlier as
 * the oldest one of the whole cluster, the seconds count from then.
 */
function observeOwn(ctx: Context, id: bigint | null): number {
  const { own, snapshot } = holdsOf(ctx);
  if (id !== null && own.at?.id !== id && snapshot.at?.id === id) own.at = snapshot.at;
  return secondsHeld(ctx, own, id);
}

/** Logs the transaction that holds the horizon back, once per transaction. */
function logHolder(ctx: Context, id: bigint, holder: HorizonHolder): void {
  const holds = holdsOf(ctx);
  const age_seconds = Math.round(holder.age_seconds);
  if (age_seconds < LOG_AFTER_SECONDS || holds.logged === id) return;
  holds.logged = id;
  ctx.log.warn("stream.horizon_held", "An open transaction delays all streams", { ...holder, age_seconds });
}

/**
 * Records the age of the oldest open transaction of this database, because streams wait for it. Without such a transaction, the
 * age is 0.
 */
export async function recordHorizonAge(ctx: Context): Promise<void> {
  const { horizon, holder } = await readOwnHorizon(ctx);
  ctx.meter.record("StreamHorizonAge", holder?.age_seconds ?? 0);
  if (holder) logHolder(ctx, horizon, holder);
}
