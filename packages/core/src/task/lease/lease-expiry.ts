import { and, asc, eq, inArray, isNotNull, min, type SQL, sql } from "drizzle-orm";
import type { BoardRow } from "../../organization/access.ts";
import type { System } from "../../context/actor.ts";
import { agents as agentTable } from "../../schema/agent.sql.ts";
import { boards } from "../../schema/board.sql.ts";
import { type Context, transaction } from "../../context/context.ts";
import { isDatabaseUnavailable } from "../../db/query-error.ts";
import { readBoardAgents } from "../../notification/board-agents.ts";
import { type TakenTask, toExpiryEffects } from "./expiry-effects.ts";
import { lockedBoard } from "../lock.ts";
import { storeEffects } from "../store-effects.ts";
import { nextTimes, type TaskRow } from "../status-rules.ts";
import { tasks } from "../../schema/task.sql.ts";

/** A task is blocked after this many expiries in a row, if no holder has commented on it or moved it in the meantime. */
const MAX_EXPIRIES = 3;
/** The maximum number of expired tasks of a board per transaction. */
const BATCH_SIZE = 100;
const HOUR_MS = 3_600_000;

/**
 * Takes tasks with an expired lease away from their holders, on the boards that meet the condition
 * (docs/reference/tasks.md#expiry). If there are no such tasks, only one statement is sent. Locked tasks are left for the next run.
 * A board that fails each time must not keep the other boards waiting, so its error is thrown only after all boards were handled.
 */
export async function expireLeases(ctx: Context, condition?: SQL): Promise<void> {
  const found = await ctx.db
    .select()
    .from(boards)
    .where(and(condition, hasExpired(limitsOf(ctx))))
    .orderBy(asc(boards.id));
  const errors: unknown[] = [];
  for (const board of found)
    try {
      while ((await expireOnBoard({ ...ctx, actor: { type: "system" } }, board)) === BATCH_SIZE);
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      errors.push(error);
    }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors);
}

/** Returns when the next lease on any board ends, or null if no task has a lease. */
export async function readNextLeaseEnd(ctx: Context): Promise<Date | null> {
  const [row] = await ctx.db
    .select({ ends_at: min(tasks.lease_expires_at) })
    .from(tasks)
    .where(isNotNull(tasks.lease_expires_at));
  return row?.ends_at ?? null;
}

/** Returns the times that decide which tasks are taken away from their agents. `idle_since` is null if TASK_IDLE_HOURS is 0. */
export function expiryLimits(ctx: Context): { now: string; idle_since: string | null } {
  const { task_idle_hours } = ctx.settings;
  const now = ctx.now();
  const idle_since = task_idle_hours === 0 ? null : new Date(now.getTime() - task_idle_hours * HOUR_MS).toISOString();
  return { now: now.toISOString(), idle_since };
}

interface Limits {
  now: SQL;
  idle_since: SQL | null;
}

function limitsOf(ctx: Context): Limits {
  const { now, idle_since } = expiryLimits(ctx);
  return { now: sql`${now}::timestamptz`, idle_since: idle_since === null ? null : sql`${idle_since}::timestamptz` };
}

const isOver = ({ now }: Limits) => sql`${tasks.lease_expires_at} <= ${now}`;

/**
 * Returns a condition on `tasks`: whether the task is in progress without a lease and its agent has been silent for
 * TASK_IDLE_HOURS.
 */
const isAbandoned = (idle_since: SQL): SQL =>
  sql`(${tasks.status} = 'in_progress' and ${tasks.lease_expires_at} is null and ${tasks.updated_at} <= ${idle_since}
    and exists (select 1 from ${agentTable} as agent where agent.id = ${tasks.assigned_agent_id}
      and (agent.last_seen_at is null or agent.last_seen_at <= ${idle_since})))`;

/** Returns a condition on `boards`: whether `expireLeases` would take a task of the board away from its holder. */
export function hasExpired(limits: Limits): SQL {
  // Expired leases on all boards are found by one search of the lease index. Abandoned tasks are searched board by board.
  const over = sql`${boards.id} in (select ${tasks.board_id} from ${tasks} where ${isOver(limits)})`;
  if (limits.idle_since === null) return over;
  const abandoned = sql`select 1 from ${tasks} where ${tasks.board_id} = ${boards.id} and ${isAbandoned(limits.idle_since)}`;
  return sql`(${over} or exists (${abandoned}))`;
}

/** Expires leases on one board, and returns the number of affected tasks. */
const expireOnBoard = (ctx: Context<System>, board: BoardRow): Promise<number> =>
  transaction(ctx, async (ctx) => {
    const limits = limitsOf(ctx);
    const isEnded = limits.idle_since === null ? isOver(limits) : sql`(${isOver(limits)} or ${isAbandoned(limits.idle_since)})`;
    const expired = await ctx.db
      .select()
      .from(tasks)
      .where(and(eq(tasks.board_id, lockedBoard(board)), isEnded))
      .orderBy(asc(tasks.id))
      .limit(BATCH_SIZE)
      .for("no key update", { skipLocked: true });
    if (expired.length === 0) return 0;
    const holder_ids = expired.flatMap(({ assigned_agent_id }) => assigned_agent_id ?? []);
    const agents = await readBoardAgents(ctx, board, [...new Set(holder_ids)]);
    const changes = expired.map((before) => ({ before, after: toExpired(before, ctx.now()) }));
    for (const [status, group] of Map.groupBy(changes, ({ after }) => after.status))
      await storeExpired(ctx, board, status, group);
    await storeEffects(ctx, toExpiryEffects(ctx, board, agents, changes));
    ctx.meter.record("RunsExpired", expired.length);
    return expired.length;
  });

function toExpired(before: TaskRow, now: Date): TaskRow {
  const lease_expiries = before.lease_expiries + 1;
  const isPoison = lease_expiries >= MAX_EXPIRIES;
  const status = isPoison ? "blocked" : "inbox";
  return {
    ...before,
    ...nextTimes(before.status, status, before, now),
    status,
    assigned_agent_id: null,
    lease_expires_at: null,
    lease_seconds: null,
    lease_was_free: false,
    lease_fence: before.lease_fence + 1,
    // Resets the count of expiries, so that a task that is moved out of `blocked` gets the full number of attempts.
    lease_expiries: isPoison ? 0 : lease_expiries,
  };
}

async function storeExpired(ctx: Context, board: BoardRow, status: TaskRow["status"], expired: readonly TakenTask[]) {
  const ids = expired.map(({ before }) => before.id);
  await ctx.db
    .update(tasks)
    .set({
      status,
      assigned_agent_id: null,
      in_progress_at: status === "inbox" ? null : sql`${tasks.in_progress_at}`,
      lease_expires_at: null,
      lease_seconds: null,
      lease_was_free: false,
      lease_fence: sql`${tasks.lease_fence} + 1`,
      run_status: sql`case when ${tasks.run_status} = 'running' then 'expired' else ${tasks.run_status} end`,
      lease_expiries: status === "inbox" ? sql`${tasks.lease_expiries} + 1` : 0,
    })
    .where(and(eq(tasks.board_id, board.id), inArray(tasks.id, ids)));
}
