import { asc, eq, sql } from "drizzle-orm";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import type { TagLabel } from "./tag.ts";
import { tags } from "./tag.sql.ts";

/** The tags that tasks of a board can have, which are those of its organization, by name. */
export async function listBoardTags(ctx: Context<User | Agent>, board_id: string): Promise<TagLabel[]> {
  const { organization_id } = await boardFor(ctx, board_id, "read");
  return ctx.db
    .select({ id: tags.id, name: tags.name, slug: tags.slug, color: tags.color })
    .from(tags)
    .where(eq(tags.organization_id, organization_id))
    .orderBy(asc(sql`lower(${tags.name})`), asc(tags.created_at), asc(tags.id));
}
