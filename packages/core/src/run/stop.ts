import { and, asc, eq, inArray } from "drizzle-orm";
import * as z from "zod";
import type { Agent, System, User } from "../context/actor.ts";
import { type CallerContext, type Context, isInTransaction, transaction } from "../context/context.ts";
import { readBoardAgents } from "../notification/board-agents.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import { boards } from "../schema/board.sql.ts";
import { runs } from "../schema/run.sql.ts";
import { mergeEffects } from "../task/lease/expiry-effects.ts";
import { takeBackTasks } from "../task/lease/take-back.ts";
import { storeEffects } from "../task/store-effects.ts";
import { DomainError } from "../values/errors.ts";
import { lazyObject } from "../values/wire.ts";
import { Reason } from "./report.ts";
import { readRun, type Run, toRun } from "./run.ts";
import { toStopEffects } from "./stop-effects.ts";

export const StopRun = lazyObject(() => ({
  reason: Reason.default(null).describe("Why it is stopped, in one sentence. The agent reads it."),
})).meta({ id: "RunStop" });
export type StopRun = z.infer<typeof StopRun>;

/**
 * Throws unless the caller may stop the run: only the board's lead and people who may write to the board may. Returns the board.
 */
export async function requireStoppable(ctx: CallerContext, board_id: string, run_id: string): Promise<BoardRow> {
  const board = await boardFor(ctx, board_id, "write");
  await readRun(ctx, board.id, run_id);
  const { actor } = ctx;
  if (actor.type === "agent" && !(actor.is_board_lead && actor.board_id === board.id))
    throw new DomainError("forbidden", "Only board leads can perform this action");
  return board;
}

/** Stops a running run: the agent loses the task, which goes back to the inbox without an assignee. */
export async function stopRun(ctx: CallerContext, board_id: string, run_id: string, { reason }: StopRun): Promise<Run> {
  const board = await requireStoppable(ctx, board_id, run_id);
  return transaction(ctx, async (ctx) => {
    const by = ctx.actor.type === "agent" ? "The board lead" : "A person";
    const stopped = await stopOnBoard(ctx, board, [run_id], reason ?? `${by} stopped the run.`);
    if (stopped.length === 0) throw new DomainError("conflict", "The run has ended.");
    return toRun(await readRun(ctx, board.id, run_id));
  });
}

interface RunRef {
  id: string;
  board_id: string;
}

/**
 * Stops the runs of an organization that are still running, in the caller's transaction, and returns their ids. Locks boards by id,
 * then tasks by id. `reason` is one sentence for people and agents.
 */
export async function stopRuns(
  ctx: Context<User | Agent | System>,
  organization_id: string,
  running: readonly RunRef[],
  reason: string,
): Promise<string[]> {
  if (!isInTransaction(ctx)) throw new Error("stopRuns outside a transaction");
  if (running.length === 0) return [];
  const found = await ctx.db
    .select()
    .from(boards)
    .where(
      and(eq(boards.organization_id, organization_id), inArray(boards.id, [...new Set(running.map(({ board_id }) => board_id))])),
    )
    .orderBy(asc(boards.id))
    .for("key share");
  const stopped: string[] = [];
  for (const board of found) {
    const ids = running.filter(({ board_id }) => board_id === board.id).map(({ id }) => id);
    stopped.push(...(await stopOnBoard(ctx, board, ids, reason)));
  }
  return stopped;
}

async function stopOnBoard(
  ctx: Context<User | Agent | System>,
  board: BoardRow,
  run_ids: readonly string[],
  reason: string,
): Promise<string[]> {
  const taken = await takeBackTasks(ctx, board, run_ids);
  if (taken.length === 0) return [];
  const ids = taken.map(({ before }) => before.run_id!);
  await ctx.db
    .update(runs)
    .set({ ended_reason: reason })
    .where(and(eq(runs.board_id, board.id), inArray(runs.id, ids)));
  const holder_ids = taken.map(({ before }) => before.run_agent_id!);
  const agents = await readBoardAgents(ctx, board, [...new Set(holder_ids)]);
  await storeEffects(ctx, mergeEffects(taken.map((task) => toStopEffects(ctx.actor, board, agents, task, reason))));
  return ids;
}
