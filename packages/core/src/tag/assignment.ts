import { and, asc, eq, inArray } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { tag_assignments, tags } from "../schema/tag.sql.ts";

/**
 * Returns the ids that are not tags of the organization, in their order. Locks the existing tags until the transaction ends. Tags
 * are locked before their assignments, as in the removal of a tag.
 */
export async function listMissingTagIds(ctx: Context, organization_id: string, tag_ids: readonly string[]): Promise<string[]> {
  if (tag_ids.length === 0) return [];
  const found = await ctx.db
    .select({ id: tags.id })
    .from(tags)
    .where(and(inArray(tags.id, [...tag_ids]), eq(tags.organization_id, organization_id)))
    .orderBy(asc(tags.id))
    .for("key share");
  const existing = new Set(found.map(({ id }) => id));
  return tag_ids.filter((id) => !existing.has(id));
}

/** Replaces the tags of a task and stores the order of the ids. */
export async function replaceTags(ctx: Context, task_id: string, tag_ids: readonly string[]): Promise<void> {
  await ctx.db.delete(tag_assignments).where(eq(tag_assignments.task_id, task_id));
  await assignTags(ctx, task_id, tag_ids);
}

/** Adds tags to a task that has none yet. */
export async function assignTags(ctx: Context, task_id: string, tag_ids: readonly string[]): Promise<void> {
  if (tag_ids.length === 0) return;
  await ctx.db.insert(tag_assignments).values(tag_ids.map((tag_id, position) => ({ task_id, tag_id, position })));
}
