import { and, asc, eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { recordEvent } from "../activity/activity.ts";
import { actorColumns, agentIdOf } from "../context/actor.ts";
import { type CallerContext, type Context, transaction } from "../context/context.ts";
import { requireInRunScope } from "../context/run-scope.ts";
import { actingAs } from "../db/change-actor.ts";
import { filterBy } from "../lists/filter.ts";
import { idKey, type SortOrder, timeKey } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { boardFor } from "../organization/access.ts";
import { ARTIFACT_STATUSES, artifacts } from "../schema/artifact.sql.ts";
import { getTask } from "../task/list.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";

export const Artifact = lazyObject(() => ({
  id: Id.describe("Id of the artifact."),
  board_id: Id.describe("Board of the task."),
  task_id: Id.describe("Task that the file belongs to."),
  run_id: Id.nullable().describe("Run in which it was made; null if it was made outside of runs."),
  name: z.string().describe("Name of the file, without a folder."),
  content_type: z
    .string()
    .describe(
      "Media type. Once the artifact is ready, it is detected from the content, not from the name. Binary content that the console does not show is `application/octet-stream`, and text that a browser would execute is `text/plain`.",
    ),
  size: z.int().describe("Bytes of the content."),
  sha256: z.string().describe("SHA-256 of the content, in hex digits."),
  status: z.enum(ARTIFACT_STATUSES).describe("`uploading` until the content is there and checked."),
  agent_id: Id.nullable().describe("Agent that added it."),
  user_id: Id.nullable().describe("Person who added it."),
  created_at: Instant.describe("When it was announced."),
  completed_at: Instant.nullable().describe("When its content was complete."),
})).meta({ id: "Artifact", description: "A file of a task: a log, a picture, a diff or a document." });
export type Artifact = z.infer<typeof Artifact>;

const { content: _content, ...columns } = getTableColumns(artifacts);
export const artifactColumns = columns;
export type ArtifactRow = Omit<typeof artifacts.$inferSelect, "content">;

const artifactOrder: SortOrder<Pick<ArtifactRow, "created_at" | "id">> = [
  timeKey(artifacts.created_at, ({ created_at }) => created_at),
  idKey(artifacts.id, ({ id }) => id),
];

const artifactList = listOf({ name: "artifacts", table: artifacts, columns, order: artifactOrder });

/** Lists the artifacts of a task, oldest first. */
export async function listArtifacts(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  query: PageQuery,
): Promise<Page<Artifact>> {
  const task = await getTask(ctx, board_id, task_id);
  return artifactList.read(ctx, query, {
    owner: task.id,
    filters: [
      filterBy("board_id", task.board_id, (id) => eq(artifacts.board_id, id)),
      filterBy("task_id", task.id, (id) => eq(artifacts.task_id, id)),
    ],
    toItem: toArtifact,
  });
}

const MAX_NAMED = 50;

/** Returns the oldest finished artifacts of a task. The caller must have read the task. */
export async function readFinished(ctx: Context, board_id: string, task_id: string): Promise<Artifact[]> {
  const rows = await ctx.db
    .select(columns)
    .from(artifacts)
    .where(and(eq(artifacts.task_id, task_id), eq(artifacts.board_id, board_id), eq(artifacts.status, "ready")))
    .orderBy(asc(artifacts.created_at), asc(artifacts.id))
    .limit(MAX_NAMED);
  return rows.map(toArtifact);
}

/** Returns a condition on `artifacts` that selects this artifact of the board. */
export const artifactCondition = (board_id: string, artifact_id: string) =>
  and(eq(artifacts.id, artifact_id), eq(artifacts.board_id, board_id));

/** Returns an artifact that the caller may access. A run token can only access artifacts of the run's task. */
export async function readArtifact(
  ctx: CallerContext,
  board_id: string,
  artifact_id: string,
  need: "read" | "write",
): Promise<ArtifactRow> {
  const board = await boardFor(ctx, board_id, need);
  const [row] = await ctx.db.select(columns).from(artifacts).where(artifactCondition(board.id, artifact_id));
  if (!row) throw notFound();
  requireInRunScope(ctx.actor, { task_id: row.task_id });
  return row;
}

export async function getArtifact(
  ctx: CallerContext,
  board_id: string,
  artifact_id: string,
  need: "read" | "write" = "read",
): Promise<Artifact> {
  return toArtifact(await readArtifact(ctx, board_id, artifact_id, need));
}

/** Throws if an agent tries to remove a file that it did not add. */
export async function requireRemovable(ctx: CallerContext, board_id: string, artifact_id: string): Promise<ArtifactRow> {
  const row = await readArtifact(ctx, board_id, artifact_id, "write");
  if (ctx.actor.type === "agent" && row.agent_id !== agentIdOf(ctx.actor))
    throw new DomainError("forbidden", "Only people may remove files that others have added");
  return row;
}

/** Removes an artifact. A scheduled job deletes its object from the file storage later. */
export async function removeArtifact(ctx: CallerContext, board_id: string, artifact_id: string): Promise<void> {
  const { task_id, organization_id, name } = await requireRemovable(ctx, board_id, artifact_id);
  await transaction(ctx, async (ctx) => {
    const condition = and(artifactCondition(board_id, artifact_id), actingAs(ctx));
    const removed = await ctx.db.delete(artifacts).where(condition).returning({ id: artifacts.id });
    if (removed.length === 0) throw notFound();
    const message = `File removed: ${name}.`;
    await recordEvent(ctx, "artifact.removed", { organization_id, board_id, task_id, message, ...actorColumns(ctx.actor) });
  });
}

/** Records that a file was added. An upload that is never completed leaves no event. */
export async function recordAdded(ctx: CallerContext, row: ArtifactRow): Promise<void> {
  const { organization_id, board_id, task_id, name } = row;
  const event = { organization_id, board_id, task_id, message: `File added: ${name}.`, ...actorColumns(ctx.actor) };
  await recordEvent(ctx, "artifact.added", event);
}

export function toArtifact(row: ArtifactRow): Artifact {
  const { organization_id: _organization, created_at, completed_at, ...shown } = row;
  return { ...shown, created_at: created_at.toISOString(), completed_at: completed_at?.toISOString() ?? null };
}
