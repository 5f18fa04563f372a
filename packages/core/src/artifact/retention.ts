import { sql } from "drizzle-orm";
import { BodyStorageError } from "../context/body-storage.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { artifact_orphans } from "../schema/artifact.sql.ts";
import { forEachConcurrent } from "../values/concurrency.ts";
import { addMs, HOUR_MS } from "../values/time.ts";
import { fileKeyOf } from "./file-key.ts";

const BATCH_SIZE = 200;
const MAX_CONCURRENT = 8;
/** Time limit of one run. The next run deletes the remaining objects. */
const MAX_RUN_MS = 20_000;

/** Returns a condition on `artifacts`: whether the upload is not completed. It must equal the condition of the partial index. */
export const isUnfinished = () => sql`status = 'uploading'`;

interface Orphan {
  artifact_id: string;
  organization_id: string;
}

/**
 * Deletes two kinds of objects from the file storage: objects of removed artifacts, and remains of uploads whose process was
 * killed.
 */
export async function removeOrphanedFiles(ctx: Context): Promise<void> {
  const { files } = ctx;
  if (!files) return;
  await files.removeUnfinished().catch((error: unknown) => warn(ctx, error));
  const start = performance.now();
  let failure: unknown = null;
  const shouldStop = () => failure !== null || performance.now() - start > MAX_RUN_MS;
  while (!shouldStop()) {
    const due = await claimDue(ctx);
    const deleted: string[] = [];
    await forEachConcurrent(due, { max_concurrent: MAX_CONCURRENT, shouldStop }, async ({ artifact_id, organization_id }) => {
      try {
        await files.delete(fileKeyOf({ organization_id, id: artifact_id }));
        deleted.push(artifact_id);
      } catch (error) {
        failure = error;
      }
    });
    await ctx.db.execute(sql`delete from ${artifact_orphans} where artifact_id = any(${sql.param(deleted)}::uuid[])`);
    if (due.length < BATCH_SIZE) break;
  }
  if (failure !== null) warn(ctx, failure);
}

/** Logs a failure of the file storage. The objects are claimed for an hour, and a run after that tries them again. */
function warn(ctx: Context, error: unknown): void {
  if (!(error instanceof BodyStorageError)) throw error;
  ctx.log.warn("artifact.files_not_deleted", error.message);
}

/** Claims objects that are due for deletion, so that no other run takes them before this one has ended. */
async function claimDue(ctx: Context): Promise<Orphan[]> {
  const result = await ctx.db.execute(sql`
    update ${artifact_orphans} set due_at = ${toTimestamp(addMs(ctx.now(), HOUR_MS))}
    where artifact_id = any (array(
      select artifact_id from ${artifact_orphans} where due_at <= ${toTimestamp(ctx.now())}
      order by due_at limit ${BATCH_SIZE} for update skip locked))
    returning artifact_id, organization_id`);
  return rowsOf<Orphan>(result);
}
