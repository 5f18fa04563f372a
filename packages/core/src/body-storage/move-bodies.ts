import { createHash } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { type BodyStorage, BodyStorageError, toBodyKey } from "../context/body-storage.ts";
import { forEachConcurrent } from "../values/concurrency.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, DAY_MS, HOUR_MS } from "../values/time.ts";
import { webhook_body_orphans } from "../schema/webhook-body.sql.ts";
import { removeOrphanedBodies } from "./orphaned-bodies.ts";
import { addOrganizations, claimBatches, finishBatch, type MoveBatch, type BatchPayload } from "./move-order.ts";
import { board_webhook_payloads } from "../schema/webhook.sql.ts";

/** How many bodies are in memory at the same time. Each may be several megabytes. */
const MAX_CONCURRENT = 8;
/** Time limit of one run. The next run moves the remaining bodies. */
const MAX_RUN_MS = 50_000;

/** What one run needs, and what it has moved so far. */
interface Run {
  storage: BodyStorage;
  min_bytes: number;
  start: Date;
  shouldStop: () => boolean;
  /** The error that ended the run, or null. */
  failure: unknown;
  count: number;
  bytes: number;
}

/**
 * Moves the bodies of old payloads to the body storage, alternating between organizations, and deletes the objects of removed
 * payloads. An error of the storage ends the run. The next run continues with the first body that was not moved.
 */
export async function moveOldBodies(ctx: Context): Promise<void> {
  const { body_storage } = ctx.settings;
  if (!ctx.bodies || !body_storage) return;
  await removeOrphanedBodies(ctx, ctx.bodies);
  const { days, min_bytes } = body_storage;
  if (days === 0) return;
  const began = performance.now();
  const run: Run = {
    storage: ctx.bodies,
    min_bytes,
    start: ctx.now(),
    shouldStop: () => run.failure !== null || performance.now() - began > MAX_RUN_MS,
    failure: null,
    count: 0,
    bytes: 0,
  };
  await addOrganizations(ctx, run.start);
  while (!run.shouldStop()) {
    const batches = await claimBatches(ctx, run.start, addMs(run.start, -days * DAY_MS));
    if (batches.length === 0) break;
    await moveBatches(ctx, run, batches);
  }
  const { count, bytes, failure } = run;
  if (count > 0) ctx.log.info("webhook.bodies_moved", "Bodies moved to the body storage", { count, bytes });
  if (failure instanceof BodyStorageError) ctx.log.warn("webhook.bodies_not_moved", failure.message);
  else if (failure !== null) throw failure;
}

async function moveBatches(ctx: Context, run: Run, batches: readonly MoveBatch[]): Promise<void> {
  const done = new Set<string>();
  const { shouldStop } = run;
  const wanted = batches.map(({ organization_id, payloads }) => {
    const large = payloads.filter(({ bytes }) => bytes !== null && bytes >= run.min_bytes);
    for (const { id } of payloads.filter((payload) => !large.includes(payload))) done.add(id);
    return large.map(({ id }) => ({ payload_id: id, body_key: toBodyKey({ organization_id, payload_id: id }) }));
  });
  await recordWrites(ctx, wanted.flat());
  await forEachConcurrent(interleave(wanted), { max_concurrent: MAX_CONCURRENT, shouldStop }, async (object) => {
    try {
      await moveBody(ctx, run, object);
      done.add(object.payload_id);
    } catch (error) {
      run.failure = error;
    }
  });
  for (const batch of batches) await finishBatch(ctx, batch, { last: lastDone(batch.payloads, done), start: run.start });
}

/** Interleaves the lists: the first item of each list, then the second of each, and so on. */
const interleave = <T>(lists: readonly (readonly T[])[]): T[] =>
  Array.from({ length: Math.max(0, ...lists.map(({ length }) => length)) }).flatMap((_, index) =>
    lists.flatMap((list) => list.slice(index, index + 1)),
  );

/** Returns the last payload before the first payload that could not be moved. */
function lastDone(payloads: readonly BatchPayload[], done: ReadonlySet<string>): BatchPayload | null {
  const failed = payloads.findIndex(({ id }) => !done.has(id));
  return payloads[(failed === -1 ? payloads.length : failed) - 1] ?? null;
}

interface NewObject {
  payload_id: string;
  body_key: string;
}

/**
 * Records objects before they are written. A write can take seconds, and in that time the process may be killed or the payload
 * removed. The record then lets a later run delete the object.
 */
export async function recordWrites(ctx: Context, objects: readonly NewObject[]): Promise<void> {
  if (objects.length === 0) return;
  await ctx.db.execute(sql`
    insert into ${webhook_body_orphans} (payload_id, body_key, due_at)
    select payload_id, body_key, ${toTimestamp(addMs(ctx.now(), HOUR_MS))}
    from unnest(${sql.param(objects.map(({ payload_id }) => payload_id))}::uuid[],
      ${sql.param(objects.map(({ body_key }) => body_key))}::text[]) as object(payload_id, body_key)
    on conflict (payload_id) do update set due_at = excluded.due_at`);
}

/** Writes the object and reads it back. If that succeeds and the body has not changed, the body is removed from the database. */
async function moveBody(ctx: Context, run: Run, { payload_id, body_key }: NewObject): Promise<void> {
  const [row] = await ctx.db
    .select({ body: board_webhook_payloads.body })
    .from(board_webhook_payloads)
    .where(eq(board_webhook_payloads.id, payload_id));
  // The payload was removed, or its body was already moved.
  if (!row?.body) return;
  const { body } = row;
  await run.storage.put(body_key, body);
  const stored = await run.storage.get(body_key);
  if (!stored || Buffer.compare(stored, body) !== 0) throw new BodyStorageError("The body storage changed or lost a new object");
  const result = await ctx.db.execute(sql`
    with moved as (
      update ${board_webhook_payloads} set body = null, body_key = ${body_key}, body_bytes = octet_length(body),
        size_bytes = coalesce(size_bytes, octet_length(body))
      where id = ${payload_id} and sha256(body) = ${createHash("sha256").update(body).digest()}
      returning id
    ), kept as (
      delete from ${webhook_body_orphans} where payload_id in (select id from moved)
    )
    select id from moved`);
  if (rowsOf(result).length === 0) return;
  run.count++;
  run.bytes += body.byteLength;
}
