import { and, asc, eq, sql } from "drizzle-orm";
import type { CallerContext } from "../../context/context.ts";
import { boardFor } from "../../organization/access.ts";
import { run_steps } from "../../schema/run.sql.ts";
import { ClientId } from "../../stream/client-id.ts";
import { Since } from "../../stream/since.ts";
import type { ReadWindow, Source } from "../../stream/source.ts";
import { lazyObject } from "../../values/wire.ts";
import { readRun } from "../run.ts";
import { readStepBody } from "./body.ts";
import { unpack } from "./pack.ts";

export const StepStreamQuery = lazyObject(() => ({
  since: Since.describe("Sends steps that arrived from this time on; the default is now. A Last-Event-ID header wins."),
  client_id: ClientId,
}));

/**
 * Returns the stream of a run's steps. The position of a step consists of the transaction that stored it and its number in the run.
 * Both increase together, because a request can only append to steps that are committed.
 */
export async function followSteps(ctx: CallerContext, board_id: string, run_id: string): Promise<Source> {
  const board = await boardFor(ctx, board_id, "read");
  const run = await readRun(ctx, board.id, run_id);
  return {
    key: `steps ${run.id}`,
    organization_id: board.organization_id,
    event: "step",
    async read(ctx, window) {
      const batches = await ctx.db
        .select()
        .from(run_steps)
        .where(and(eq(run_steps.run_id, run.id), sql`${run_steps.first} in (${firstsOf(run.id, window)})`))
        .orderBy(asc(run_steps.tx), asc(run_steps.first));
      const rows = [];
      for (const batch of batches) {
        const tx = BigInt(batch.tx);
        for (const step of await unpack(await readStepBody(ctx, batch), batch.first)) {
          const cursor = { tx, seq: BigInt(step.n) + 1n };
          const isSent = tx === window.after.tx && cursor.seq <= window.after.seq;
          if (!isSent) rows.push({ id: `${run.id}.${step.n}`, cursor, data: step });
        }
      }
      return rows.slice(0, window.limit);
    },
  };
}

/** Selects the first batches of a window that together have as many steps as the window may return. */
const firstsOf = (run_id: string, { after, below, since, limit }: ReadWindow) => sql`
  select first from (
    select first, sum(count) over (order by tx, first) - count as before from (
      select tx, first, least(count, first + count - case when tx = ${String(after.tx)}::xid8 then ${String(after.seq)}::bigint
        else first end) as count
      from ${run_steps}
      where run_id = ${run_id} and tx >= ${String(after.tx)}::xid8 and tx < ${String(below)}::xid8
        and (tx > ${String(after.tx)}::xid8 or first + count > ${String(after.seq)}::bigint)
        ${since === null ? sql`` : sql`and created_at >= ${since.toISOString()}::timestamptz`}
      order by tx, first limit ${limit}) as next) as counted
  where before < ${limit}`;
