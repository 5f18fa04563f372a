import * as z from "zod";
import type { Context } from "../context/context.ts";
import { addMs } from "../values/time.ts";
import { Instant, lazyObject } from "../values/wire.ts";
import type { ArtifactRow } from "./artifact.ts";
import { fileKeyOf, withFiles } from "./file-key.ts";

/** Presigned addresses expire before the objects of removed artifacts are deleted, so that no object is written afterwards. */
const UPLOAD_MS = 900_000;

export const ArtifactUpload = lazyObject(() => ({
  url: z.string().describe("Where to PUT the content. A path without a host refers to this service."),
  headers: z.record(z.string(), z.string()).describe("Headers that the request must have."),
  authenticated: z
    .boolean()
    .describe("Whether the request also needs the caller's credentials. Elsewhere they must not be sent."),
  expires_at: Instant.describe("Until when the upload must have begun."),
})).meta({ id: "ArtifactUpload", description: "How the content of an artifact is uploaded. Then complete the artifact." });
export type ArtifactUpload = z.infer<typeof ArtifactUpload>;

/** Returns where the client sends the content: directly to the file storage, or to this service. */
export async function planUpload(ctx: Context, row: ArtifactRow): Promise<ArtifactUpload> {
  const expires_at = addMs(ctx.now(), UPLOAD_MS).toISOString();
  const { size, sha256 } = row;
  const presigned = await withFiles(ctx, async ({ presign }) => presign?.upload(fileKeyOf(row), { size, sha256 }));
  if (presigned) return { ...presigned, authenticated: false, expires_at };
  const url = `/api/v1/boards/${row.board_id}/artifacts/${row.id}/content`;
  return { url, headers: {}, authenticated: true, expires_at };
}
