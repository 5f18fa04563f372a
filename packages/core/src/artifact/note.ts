import * as z from "zod";
import type { CallerContext } from "../context/context.ts";
import { lazyObject } from "../values/wire.ts";
import type { Artifact } from "./artifact.ts";
import { CreateArtifact, createArtifact, IN_DATABASE_BYTES } from "./create.ts";

/** A text that an agent adds as a file. It is stored in the database, so it can be part of a transaction. */
export const ArtifactNote = lazyObject(() => ({
  name: CreateArtifact.shape.name,
  text: z
    .string()
    .max(IN_DATABASE_BYTES)
    .refine((text) => Buffer.byteLength(text) <= IN_DATABASE_BYTES, {
      error: `text should have at most ${IN_DATABASE_BYTES} bytes`,
    })
    .describe("Content of the file."),
}));
export type ArtifactNote = z.infer<typeof ArtifactNote>;

/** The text type for each file extension, because an agent sends no media type. Browsers execute none of these types. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["md", "text/markdown"],
  ["csv", "text/csv"],
  ["diff", "text/x-diff"],
  ["patch", "text/x-diff"],
  ["json", "application/json"],
]);

export function createNoteArtifact(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  { name, text }: ArtifactNote,
): Promise<Artifact> {
  const content_type = TYPES.get(name.split(".").at(-1)!.toLowerCase()) ?? "text/plain";
  return createArtifact(ctx, board_id, task_id, { name, content_type, content: Buffer.from(text).toString("base64") });
}
