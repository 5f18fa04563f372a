import { createHash } from "node:crypto";
import { and, count, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { actorColumns } from "../context/actor.ts";
import { type CallerContext, transaction } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { rowsOf } from "../db/database.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import { readRun } from "../run/run.ts";
import { artifact_usage, artifacts } from "../schema/artifact.sql.ts";
import { lockTask } from "../task/lock.ts";
import { DomainError } from "../values/errors.ts";
import { Id, Integer, lazyObject, MAX_INTEGER, NonEmpty, valueError } from "../values/wire.ts";
import { Artifact, artifactColumns, artifactCondition, type ArtifactRow, recordAdded, toArtifact } from "./artifact.ts";
import { contentTypeOf, HEAD_BYTES } from "./content-type.ts";
import { completeUpload, storeContent } from "./upload.ts";
import { ArtifactUpload, planUpload } from "./upload-plan.ts";

/** A request with longer content would come close to the size limit for request bodies. A larger file is uploaded separately. */
const INLINE_BYTES = 262_144;
/** Smaller content stays in the database, which costs less than an object in a bucket and needs no file storage. */
export const IN_DATABASE_BYTES = 65_536;
const MAX_NAME = 200;
const MAX_PER_TASK = 200;

/** With control characters or folder separators, a name could mean something else on the computer where the file is saved. */
const FILE_NAME = /^[^\p{C}/\\]+$/u;
const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?:; ?[\w-]{1,20}=[\w.-]{1,40})?$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export const CreateArtifact = lazyObject(() => ({
  name: NonEmpty(MAX_NAME)
    .refine(
      (name) => FILE_NAME.test(name) && !/^\.+$/.test(name),
      valueError("name must be the name of a file, without a folder"),
    )
    .describe("Name of the file, without a folder."),
  content_type: z
    .string()
    .regex(MEDIA_TYPE, valueError("content_type must be a media type"))
    .default("application/octet-stream")
    .describe("Media type. Of texts, `text/markdown`, `text/csv`, `text/x-diff` and `application/json` are kept."),
  content: z
    .string()
    .max(4 * Math.ceil(INLINE_BYTES / 3))
    .refine((text) => text.length % 4 === 0 && BASE64.test(text), valueError("content must be Base64"))
    .refine((text) => Buffer.byteLength(text, "base64") <= INLINE_BYTES, valueError(`content may have ${INLINE_BYTES} bytes`))
    .optional()
    .describe(`The content in Base64, of at most ${INLINE_BYTES} bytes. Without it, the file is uploaded afterwards.`),
  size: Integer(0, MAX_INTEGER).optional().describe("Bytes of the content. Needed without `content`."),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, valueError("sha256 must be 64 hex digits"))
    .toLowerCase()
    .optional()
    .describe("SHA-256 of the content, in hex digits. Needed without `content`."),
  run_id: Id.nullable().optional().describe("Run of the task in which it was made. By default the run of the caller's token."),
}))
  .refine(
    ({ content, size, sha256 }) => content !== undefined || (size !== undefined && sha256 !== undefined),
    valueError("Either content, or size and sha256, is required"),
  )
  .meta({ id: "ArtifactCreate" });
export type CreateArtifact = z.infer<typeof CreateArtifact>;

export const NewArtifact = lazyObject(() => ({
  ...Artifact.shape,
  upload: ArtifactUpload.nullable().describe("How to upload the content; null if it was sent along."),
})).meta({ id: "NewArtifact", description: "An artifact that was just created." });
export type NewArtifact = z.infer<typeof NewArtifact>;

interface NewFile {
  name: string;
  content_type: string;
  size: number;
  sha256: string;
  run_id: string | null;
  /** Null if the content will be uploaded later. */
  content: Buffer | null;
}

/** Adds a file to a task, either with its content or with an address for uploading the content. */
export async function createArtifact(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  input: CreateArtifact,
): Promise<NewArtifact> {
  const board = await boardFor(ctx, board_id, "write");
  const file = toNewFile(ctx, input);
  requireRoomForFile(ctx, file.size);
  if (file.run_id !== null) await requireRunOf(ctx, board, task_id, file.run_id);
  const { content } = file;
  if (content && (content.length <= IN_DATABASE_BYTES || !ctx.files))
    return { ...toArtifact(await insertArtifact(ctx, board, task_id, file, true)), upload: null };
  if (!ctx.files) throw noStorage();
  const row = await insertArtifact(ctx, board, task_id, file, false);
  try {
    if (!content) return { ...toArtifact(row), upload: await planUpload(ctx, row) };
    await storeContent(ctx, row, [content]);
    return { ...(await completeUpload(ctx, row)), upload: null };
  } catch (error) {
    // The client does not get the id and has to send the whole request again. So the row would only count toward the limits.
    await removeUploading(ctx, row).catch(() => {});
    throw error;
  }
}

const removeUploading = async (ctx: CallerContext, { board_id, id }: ArtifactRow): Promise<void> =>
  void (await ctx.db
    .delete(artifacts)
    .where(and(artifactCondition(board_id, id), eq(artifacts.status, "uploading"), actingAs(ctx))));

const noStorage = () =>
  new DomainError("conflict", `The service has no storage for files above ${INLINE_BYTES} bytes. Send the content along.`);

function toNewFile(ctx: CallerContext, input: CreateArtifact): NewFile {
  const { name, content_type } = input;
  const run_id = input.run_id ?? (ctx.actor.type === "agent" ? (ctx.actor.run?.run_id ?? null) : null);
  if (input.content === undefined) return { name, content_type, size: input.size!, sha256: input.sha256!, run_id, content: null };
  const content = Buffer.from(input.content, "base64");
  const sha256 = createHash("sha256").update(content).digest("hex");
  if ((input.size ?? content.length) !== content.length || (input.sha256 ?? sha256) !== sha256)
    throw new DomainError("invalid", "The content does not have the size or the SHA-256 that the request names.");
  return { name, content_type, size: content.length, sha256, run_id, content };
}

function requireRoomForFile({ settings }: CallerContext, size: number): void {
  const max = settings.budgets.artifact_max_bytes;
  if (size <= max) return;
  throw new DomainError("too_large", `A file may have at most ${max} bytes.`, { fields: { size, limit: max } });
}

async function requireRunOf(ctx: CallerContext, board: BoardRow, task_id: string, run_id: string): Promise<void> {
  const run = await readRun(ctx, board.id, run_id);
  if (run.task_id !== task_id) throw new DomainError("invalid", "The run is one of another task.");
}

function insertArtifact(
  ctx: CallerContext,
  board: BoardRow,
  task_id: string,
  { content, ...file }: NewFile,
  isStoredHere: boolean,
): Promise<ArtifactRow> {
  const { organization_id, id: board_id } = board;
  return transaction(ctx, async (ctx) => {
    // The task is locked before the row that counts the organization's bytes, in the same order as when a task is removed together
    // with its artifacts.
    await lockTask(ctx, board, task_id, { dependents: false });
    await requireRoomOnTask(ctx, task_id);
    await takeBytes(ctx, organization_id, file.size);
    const stored = isStoredHere
      ? {
          content: content!,
          content_type: contentTypeOf(content!.subarray(0, HEAD_BYTES), file.content_type),
          status: "ready" as const,
          completed_at: ctx.now(),
        }
      : { status: "uploading" as const };
    const [row] = await ctx.db
      .insert(artifacts)
      .values({ ...file, organization_id, board_id, task_id, created_at: ctx.now(), ...actorColumns(ctx.actor), ...stored })
      .returning(artifactColumns);
    if (isStoredHere) await recordAdded(ctx, row!);
    return row!;
  });
}

/** Throws if the task has the maximum number of files. The count is exact because the task is locked. */
async function requireRoomOnTask(ctx: CallerContext, task_id: string): Promise<void> {
  const [found] = await ctx.db.select({ used: count() }).from(artifacts).where(eq(artifacts.task_id, task_id));
  const { used } = found!;
  if (used < MAX_PER_TASK) return;
  throw new DomainError("conflict", `The task has ${used} files, which is the limit. Remove some first.`, {
    fields: { used, limit: MAX_PER_TASK },
  });
}

/** Adds the bytes of a new file to the usage of the organization. Throws `conflict` if they would exceed the limit. */
async function takeBytes(ctx: CallerContext, organization_id: string, size: number): Promise<void> {
  const limit = ctx.settings.budgets.organization_artifact_bytes;
  await ctx.db.insert(artifact_usage).values({ organization_id, bytes: 0 }).onConflictDoNothing();
  const isRoom = limit === 0 ? sql`true` : sql`bytes + ${size} <= ${limit}`;
  const taken = await ctx.db.execute(sql`
    update ${artifact_usage} set bytes = bytes + ${size} where organization_id = ${organization_id} and ${isRoom} returning bytes`);
  if (rowsOf(taken).length > 0) return;
  const [usage] = await ctx.db.select().from(artifact_usage).where(eq(artifact_usage.organization_id, organization_id));
  const used = usage!.bytes;
  throw new DomainError("conflict", `The files of the organization use ${used} of ${limit} bytes. Remove some first.`, {
    fields: { used, limit },
  });
}
