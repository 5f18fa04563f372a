import { BodyStorageError } from "../../context/body-storage.ts";
import type { Context } from "../../context/context.ts";
import type { run_steps } from "../../schema/run.sql.ts";

type StepBody = Pick<typeof run_steps.$inferSelect, "run_id" | "body" | "body_key" | "body_bytes">;

/**
 * Returns the compressed steps of a request, from the database or from the body storage. Throws a BodyStorageError if they are
 * missing.
 */
export async function readStepBody(ctx: Context, { run_id, body, body_key, body_bytes }: StepBody): Promise<Uint8Array> {
  if (body !== null) return body;
  if (!ctx.bodies) throw new BodyStorageError("Steps have moved to a body storage, but WEBHOOK_BODY_STORAGE is not set");
  const stored = await ctx.bodies.get(body_key!);
  if (stored?.byteLength === body_bytes) return stored;
  ctx.log.error("run.steps_lost", "The body storage lost steps of a run", { run_id, body_key });
  throw new BodyStorageError(`Steps of run ${run_id} are not in the body storage`);
}
