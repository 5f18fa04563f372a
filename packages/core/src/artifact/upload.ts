import { createHash } from "node:crypto";
import { and, eq } from "drizzle-orm";
import { type CallerContext, transaction } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { artifacts } from "../schema/artifact.sql.ts";
import { DomainError, notFound } from "../values/errors.ts";
import {
  type Artifact,
  artifactColumns,
  artifactCondition,
  type ArtifactRow,
  readArtifact,
  recordAdded,
  toArtifact,
} from "./artifact.ts";
import { contentTypeOf, HEAD_BYTES } from "./content-type.ts";
import { fileKeyOf, withFiles } from "./file-key.ts";

const mismatch = () =>
  new DomainError("conflict", "The content does not have the size or the SHA-256 of the artifact. Upload it again.");
const isComplete = () => new DomainError("conflict", "The artifact has its content already.");

/** Returns an artifact that waits for its content. Throws `conflict` if it is complete. */
export async function requireUploading(ctx: CallerContext, board_id: string, artifact_id: string): Promise<ArtifactRow> {
  const row = await readArtifact(ctx, board_id, artifact_id, "write");
  if (row.status !== "uploading") throw isComplete();
  return row;
}

/** Stores the content of an artifact. Content that differs from the announced size or hash is not stored. */
export async function uploadContent(
  ctx: CallerContext,
  board_id: string,
  artifact_id: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Artifact> {
  const row = await requireUploading(ctx, board_id, artifact_id);
  if (ctx.files?.presign) throw new DomainError("conflict", "The content is uploaded to the address in `upload`.");
  await storeContent(ctx, row, chunks);
  return toArtifact(row);
}

export const storeContent = (
  ctx: CallerContext,
  row: ArtifactRow,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> => withFiles(ctx, (files) => files.write(fileKeyOf(row), checked(row, chunks), row.size));

/**
 * Passes the chunks on. Throws if the size or hash differs from the announced one, so that the storage does not keep the content.
 */
async function* checked({ size, sha256 }: ArtifactRow, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > size) throw mismatch();
    hash.update(chunk);
    yield chunk;
  }
  if (bytes !== size || hash.digest("hex") !== sha256) throw mismatch();
}

/** Marks an artifact as ready once its content is stored. Repeating the call changes nothing. */
export async function completeArtifact(ctx: CallerContext, board_id: string, artifact_id: string): Promise<Artifact> {
  const row = await readArtifact(ctx, board_id, artifact_id, "write");
  return row.status === "ready" ? toArtifact(row) : completeUpload(ctx, row);
}

/**
 * Reads the stored content and compares it with the announced size and hash, because the client may have sent it directly to the
 * storage.
 */
export async function completeUpload(ctx: CallerContext, row: ArtifactRow): Promise<Artifact> {
  const head = await withFiles(ctx, async (files) => {
    const stored = await files.read(fileKeyOf(row));
    if (!stored) throw new DomainError("conflict", "The content of the artifact was not uploaded.");
    return readHead(checked(row, stored));
  });
  return transaction(ctx, async (ctx) => {
    const [ready] = await ctx.db
      .update(artifacts)
      .set({ status: "ready", content_type: contentTypeOf(head, row.content_type), completed_at: ctx.now() })
      .where(and(artifactCondition(row.board_id, row.id), eq(artifacts.status, "uploading"), actingAs(ctx)))
      .returning(artifactColumns);
    if (ready) {
      await recordAdded(ctx, ready);
      return toArtifact(ready);
    }
    // Another request has completed or removed the artifact in the meantime.
    const [now] = await ctx.db.select(artifactColumns).from(artifacts).where(artifactCondition(row.board_id, row.id));
    if (!now) throw notFound();
    return toArtifact(now);
  });
}

/** Reads all chunks but keeps only the first bytes. */
async function readHead(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    if (bytes >= HEAD_BYTES) continue;
    kept.push(chunk);
    bytes += chunk.byteLength;
  }
  return Buffer.concat(kept).subarray(0, HEAD_BYTES);
}
