import { and, eq } from "drizzle-orm";
import type { CallerContext } from "../context/context.ts";
import type { ByteRange } from "../context/file-storage.ts";
import { artifacts } from "../schema/artifact.sql.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { type Artifact, artifactCondition, readArtifact, toArtifact } from "./artifact.ts";
import { fileKeyOf, withFiles } from "./file-key.ts";

/** How the content of an artifact reaches its reader. */
export interface OpenContent {
  artifact: Artifact;
  /** An address in the file storage that needs no credentials; null if this service returns the content. */
  address: string | null;
  /** Reads the given range of the content. */
  read(this: void, range: ByteRange): Promise<AsyncIterable<Uint8Array>>;
}

/** Opens the content of an artifact. `dispositionOf` says how a browser should save it. */
export async function openContent(
  ctx: CallerContext,
  board_id: string,
  artifact_id: string,
  dispositionOf: (artifact: Artifact) => string,
): Promise<OpenContent> {
  const row = await readArtifact(ctx, board_id, artifact_id, "read");
  if (row.status !== "ready") throw new DomainError("conflict", "The artifact has no content yet.");
  const artifact = toArtifact(row);
  const condition = and(artifactCondition(row.board_id, row.id), eq(artifacts.status, "ready"));
  const [found] = await ctx.db.select({ content: artifacts.content }).from(artifacts).where(condition);
  if (!found) throw notFound();
  const { content } = found;
  if (content !== null)
    return { artifact, address: null, read: async ({ start, end }) => oneChunk(content.subarray(start, end)) };
  const key = fileKeyOf(row);
  const { content_type } = row;
  const address = await withFiles(
    ctx,
    async ({ presign }) => (await presign?.download(key, { disposition: dispositionOf(artifact), content_type })) ?? null,
  );
  return { artifact, address, read: (range) => readStored(ctx, key, range) };
}

async function* oneChunk(bytes: Uint8Array) {
  if (bytes.byteLength > 0) yield bytes;
}

async function readStored(ctx: CallerContext, key: string, range: ByteRange): Promise<AsyncIterable<Uint8Array>> {
  const stored = await withFiles(ctx, (files) => files.read(key, range));
  if (stored) return stored;
  ctx.log.error("artifact.lost", "The file storage lost the content of an artifact", { file_key: key });
  throw new DomainError("body_storage_unavailable", "The storage of files does not have the content.");
}
