import { randomUUID } from "node:crypto";
import { and, eq, isNotNull, sql } from "drizzle-orm";
import { recordWrites } from "../../body-storage/move-bodies.ts";
import { BodyStorageError, toBodyKey } from "../../context/body-storage.ts";
import type { Context } from "../../context/context.ts";
import { rowsOf } from "../../db/database.ts";
import { toTimestamp } from "../../db/timestamp.ts";
import { boards } from "../../schema/board.sql.ts";
import { run_steps, runs } from "../../schema/run.sql.ts";
import { lateSince } from "../report.ts";

/** How many runs are moved before the next ones are looked up. */
const BATCH_SIZE = 20;
/** Time limit of one call. The next call moves the rest. */
const MAX_RUN_MS = 30_000;

/**
 * Moves the steps of runs that cannot get more steps to the body storage, if there is one. Small batches stay in the database, as
 * small webhook bodies do.
 */
export async function moveOldSteps(ctx: Context): Promise<void> {
  const { body_storage } = ctx.settings;
  if (!ctx.bodies || !body_storage || body_storage.days === 0) return;
  const start = performance.now();
  const shouldStop = () => performance.now() - start > MAX_RUN_MS;
  try {
    while (!shouldStop()) {
      const found = await findEnded(ctx);
      for (const run of found) await moveRun(ctx, run, body_storage.min_bytes, shouldStop);
      if (found.length < BATCH_SIZE) return;
    }
  } catch (error) {
    if (!(error instanceof BodyStorageError)) throw error;
    ctx.log.warn("run.steps_not_moved", error.message);
  }
}

interface EndedRun {
  id: string;
  organization_id: string;
}

const findEnded = async (ctx: Context): Promise<EndedRun[]> =>
  rowsOf<EndedRun>(
    await ctx.db.execute(sql`
      select run.id, board.organization_id from ${runs} as run join ${boards} as board on board.id = run.board_id
      where run.steps > 0 and run.steps_moved_at is null and run.ended_at < ${toTimestamp(lateSince(ctx))}
      order by run.ended_at limit ${BATCH_SIZE}`),
  );

async function moveRun(
  ctx: Context,
  { id, organization_id }: EndedRun,
  min_bytes: number,
  shouldStop: () => boolean,
): Promise<void> {
  const large = await ctx.db
    .select({ first: run_steps.first })
    .from(run_steps)
    .where(and(eq(run_steps.run_id, id), isNotNull(run_steps.body), sql`${run_steps.body_bytes} >= ${min_bytes}`));
  for (const { first } of large) {
    if (shouldStop()) return;
    await moveBatch(ctx, organization_id, id, first);
  }
  await ctx.db
    .update(runs)
    .set({ steps_moved_at: ctx.now(), updated_at: sql`${runs.updated_at}` })
    .where(eq(runs.id, id));
}

/**
 * Writes the object and reads it back before the body is removed from the database. After a crash in between, a later run finds the
 * recorded write and deletes the object.
 */
async function moveBatch(ctx: Context, organization_id: string, run_id: string, first: number): Promise<void> {
  const condition = and(eq(run_steps.run_id, run_id), eq(run_steps.first, first), isNotNull(run_steps.body));
  const [row] = await ctx.db.select({ body: run_steps.body }).from(run_steps).where(condition);
  if (!row?.body) return;
  const payload_id = randomUUID();
  const body_key = toBodyKey({ organization_id, payload_id });
  await recordWrites(ctx, [{ payload_id, body_key }]);
  await ctx.bodies!.put(body_key, row.body);
  const stored = await ctx.bodies!.get(body_key);
  if (!stored || Buffer.compare(stored, row.body) !== 0)
    throw new BodyStorageError("The body storage changed or lost a new object");
  // The record of the write is not removed. When the objects of such records are checked later, this object is found to be in use.
  await ctx.db.update(run_steps).set({ body: null, body_key }).where(condition);
}
