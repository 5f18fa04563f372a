import { hash } from "node:crypto";
import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { readSights, type Sight } from "../access.ts";
import type { Member } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { cursorOf } from "../stream/cursor.ts";
import type { Granted } from "../stream/follower.ts";
import { Since } from "../stream/since.ts";
import { inOrder, type Source, within } from "../stream/source.ts";
import { activity_events } from "./activity.sql.ts";
import { FeedComment, FeedQuery, isShown, selectFeed, toFeedComment } from "./feed.ts";

export const FeedStreamQuery = z.object({ since: Since, board_id: FeedQuery().shape.board_id });

export const FeedEvent = z
  .object({ comment: FeedComment.describe("The new comment.") })
  .meta({ id: "TaskCommentFeedEvent", description: "The data of a `comment` event." });

/**
 * What is said about tasks from now on, for each of these members on the boards that are open to them at this moment.
 * Whoever sees the same boards shares a source.
 */
export async function followFeed(ctx: Context, members: readonly Member[], board_id?: string): Promise<Granted[]> {
  const sights = await readSights(ctx, members, board_id);
  return members.map(({ active }, index) => {
    const sight = sights[index]!;
    if (sight.length > 0) return sourceOf(active.organization_id, sight);
    return board_id === undefined ? null : notFound();
  });
}

const order = { tx: activity_events.tx, seq: activity_events.seq, at: activity_events.created_at };

const sourceOf = (organization_id: string, sight: Sight): Source => ({
  key: `comments ${sight === "all" ? organization_id : hash("sha256", sight.join(), "base64url")}`,
  event: "comment",
  async read(ctx, window) {
    const onThese = sight === "all" ? undefined : sql`${activity_events}.board_id = any(${sql.param([...sight])}::uuid[])`;
    const ids = ctx.db
      .select({ id: activity_events.id })
      .from(activity_events)
      .where(and(eq(activity_events.organization_id, organization_id), onThese, isShown, within(window, order)))
      .orderBy(...inOrder(window, order))
      .limit(window.limit);
    const rows = await selectFeed(ctx, ids).orderBy(...inOrder(window, order));
    return rows.map((row) => ({ id: row.id, cursor: cursorOf(row.tx, row.seq), data: { comment: toFeedComment(row) } }));
  },
});
