import { and, asc, gte, lt } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { runs } from "../schema/run.sql.ts";

/** The maximum number of runs to read at once, so that a burst cannot fill the memory. Further runs are left out. */
const MAX_RUNS = 5_000;

export type EndedRun = Omit<typeof runs.$inferSelect, "ended_at"> & { ended_at: Date };

/** Lists the runs of all organizations that ended in a period, for the operator's telemetry. */
export async function listEndedRuns(ctx: Context, { from, until }: { from: Date; until: Date }): Promise<EndedRun[]> {
  const rows = await ctx.db
    .select()
    .from(runs)
    .where(and(gte(runs.ended_at, from), lt(runs.ended_at, until)))
    .orderBy(asc(runs.ended_at))
    .limit(MAX_RUNS);
  return rows as EndedRun[];
}
