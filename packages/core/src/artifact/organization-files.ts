import { and, eq } from "drizzle-orm";
import * as z from "zod";
import type { Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { descending, idKey, integerKey } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { readableBoards } from "../organization/access.ts";
import { artifact_usage, artifacts } from "../schema/artifact.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { lazyObject } from "../values/wire.ts";
import { Artifact, artifactColumns, type ArtifactRow, toArtifact } from "./artifact.ts";

export const OrganizationArtifact = lazyObject(() => ({
  ...Artifact.shape,
  task_title: z.string().describe("Title of the task."),
})).meta({ id: "OrganizationArtifact", description: "An artifact in the list of all artifacts of an organization." });
export type OrganizationArtifact = z.infer<typeof OrganizationArtifact>;

export const ArtifactUsage = lazyObject(() => ({
  used: z.int().describe("Bytes of all artifacts of the organization, with those that are being uploaded."),
  limit: z.int().nullable().describe("Bytes that the artifacts may have together; null if there is no limit."),
})).meta({ id: "ArtifactUsage", description: "The room that the artifacts of an organization take." });
export type ArtifactUsage = z.infer<typeof ArtifactUsage>;

type Row = ArtifactRow & { task_title: string };

const artifactList = listOf({
  name: "artifacts of the organization",
  table: artifacts,
  // The join also compares the organization, so that PostgreSQL can read the artifacts in the order of the index by size.
  joins: [
    { table: boards, on: and(eq(boards.id, artifacts.board_id), eq(boards.organization_id, artifacts.organization_id))! },
    { table: tasks, on: and(eq(tasks.id, artifacts.task_id), eq(tasks.board_id, artifacts.board_id))! },
  ],
  columns: { ...artifactColumns, task_title: tasks.title },
  order: descending<Row>(
    integerKey(artifacts.size, ({ size }) => BigInt(size)),
    idKey(artifacts.id, ({ id }) => id),
  ),
});

/** Lists the artifacts on the boards that the member may read, largest first. */
export const listOrganizationArtifacts = (ctx: Context<Member>, query: PageQuery): Promise<Page<OrganizationArtifact>> =>
  artifactList.read(ctx, query, {
    owner: ctx.actor.active.organization_id,
    filters: [readableBoards(ctx.actor)],
    toItem: ({ task_title, ...row }) => ({ ...toArtifact(row), task_title }),
  });

export async function getArtifactUsage(ctx: Context<Member>): Promise<ArtifactUsage> {
  const { organization_id } = ctx.actor.active;
  const [usage] = await ctx.db.select().from(artifact_usage).where(eq(artifact_usage.organization_id, organization_id));
  return { used: usage?.bytes ?? 0, limit: ctx.settings.budgets.organization_artifact_bytes || null };
}
