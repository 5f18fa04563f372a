import { eq } from "drizzle-orm";
import { boardFor } from "../organization/access.ts";
import type { CallerContext } from "../context/context.ts";
import { type ArrayQuery, arrayLimit } from "../lists/page.ts";
import { byName, type TagLabel } from "./tag.ts";
import { tags } from "../schema/tag.sql.ts";

const MIN_LABEL_BYTES = 100;

/** Lists the tags that tasks of a board can have, by name: all tags of the board's organization. */
export async function listBoardTags(ctx: CallerContext, board_id: string, query: ArrayQuery): Promise<TagLabel[]> {
  const { organization_id } = await boardFor(ctx, board_id, "read");
  return ctx.db
    .select({ id: tags.id, name: tags.name, slug: tags.slug, color: tags.color })
    .from(tags)
    .where(eq(tags.organization_id, organization_id))
    .orderBy(...byName)
    .limit(arrayLimit(ctx, MIN_LABEL_BYTES, query))
    .offset(query.offset);
}
