import { and, asc, eq, inArray } from "drizzle-orm";
import type { Context } from "../context.ts";
import { tag_assignments, tags } from "./tag.sql.ts";

/**
 * Those of the ids that are no tags of the organization, in their order. The others stay while the caller's transaction
 * lasts: they are held before any assignment is, as by whoever removes a tag.
 */
export async function missingTagIds(ctx: Context, organization_id: string, tag_ids: readonly string[]): Promise<string[]> {
  if (tag_ids.length === 0) return [];
  const found = await ctx.db
    .select({ id: tags.id })
    .from(tags)
    .where(and(inArray(tags.id, [...tag_ids]), eq(tags.organization_id, organization_id)))
    .orderBy(asc(tags.id))
    .for("key share");
  const known = new Set(found.map(({ id }) => id));
  return tag_ids.filter((id) => !known.has(id));
}

/** Gives a task these tags in this order, in the place of those it has. */
export async function replaceTags(ctx: Context, task_id: string, tag_ids: readonly string[]): Promise<void> {
  await ctx.db.delete(tag_assignments).where(eq(tag_assignments.task_id, task_id));
  await assignTags(ctx, task_id, tag_ids);
}

/** Gives a task that has none its tags. */
export async function assignTags(ctx: Context, task_id: string, tag_ids: readonly string[]): Promise<void> {
  if (tag_ids.length === 0) return;
  await ctx.db.insert(tag_assignments).values(tag_ids.map((tag_id, position) => ({ task_id, tag_id, position })));
}
