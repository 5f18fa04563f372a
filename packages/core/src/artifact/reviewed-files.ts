import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingFor } from "../db/change-actor.ts";
import { artifact_reviews } from "../schema/artifact.sql.ts";
import { Id, Instant, lazyObject, MAX_OBJECT_BYTES, NonEmpty, valueError } from "../values/wire.ts";
import { readArtifact } from "./artifact.ts";

const MAX_PATHS = 1_000;
const MAX_PATH = 500;

export const ReviewedFiles = lazyObject(() => ({
  artifact_id: Id.describe("Id of the diff."),
  paths: z.array(z.string()).describe("The files that the caller has reviewed."),
  updated_at: Instant.nullable().describe("When the caller last changed the list; null if the caller never did."),
})).meta({ id: "ReviewedFiles", description: "The files of a diff that a person has reviewed." });
export type ReviewedFiles = z.infer<typeof ReviewedFiles>;

export const SetReviewedFiles = lazyObject(() => ({
  paths: z
    .array(NonEmpty(MAX_PATH))
    .max(MAX_PATHS)
    .refine(
      (paths) => Buffer.byteLength(JSON.stringify(paths)) <= MAX_OBJECT_BYTES,
      valueError(`paths should have at most ${MAX_OBJECT_BYTES} bytes`),
    )
    .describe("Paths as the diff names them. They replace the earlier list."),
})).meta({ id: "ReviewedFilesUpdate" });
export type SetReviewedFiles = z.infer<typeof SetReviewedFiles>;

/** Returns the files of a diff that the calling person has reviewed. */
export async function getReviewedFiles(ctx: Context<User>, board_id: string, artifact_id: string): Promise<ReviewedFiles> {
  const { id } = await readArtifact(ctx, board_id, artifact_id, "read");
  const [row] = await ctx.db
    .select()
    .from(artifact_reviews)
    .where(and(eq(artifact_reviews.artifact_id, id), eq(artifact_reviews.user_id, ctx.actor.user_id)));
  return { artifact_id: id, paths: row?.paths ?? [], updated_at: row?.updated_at.toISOString() ?? null };
}

/**
 * Replaces the caller's list of reviewed files. It needs no write access, because the list only records what the person has read.
 */
export async function setReviewedFiles(
  ctx: Context<User>,
  board_id: string,
  artifact_id: string,
  input: SetReviewedFiles,
): Promise<ReviewedFiles> {
  const { id, organization_id } = await readArtifact(ctx, board_id, artifact_id, "read");
  const values = { paths: [...new Set(input.paths)], updated_at: ctx.now() };
  await transaction(ctx, (ctx) =>
    ctx.db
      .insert(artifact_reviews)
      .values({ artifact_id: id, organization_id: actingFor(ctx, organization_id), user_id: ctx.actor.user_id, ...values })
      .onConflictDoUpdate({
        target: [artifact_reviews.artifact_id, artifact_reviews.user_id],
        set: { paths: sql`excluded.paths`, updated_at: sql`excluded.updated_at` },
      }),
  );
  return { artifact_id: id, paths: values.paths, updated_at: values.updated_at.toISOString() };
}
