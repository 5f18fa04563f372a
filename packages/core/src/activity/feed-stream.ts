import { hash } from "node:crypto";
import { and, eq, sql } from "drizzle-orm";
import { readVisibleBoards, type VisibleBoards } from "../organization/access.ts";
import type { Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { notFound } from "../values/errors.ts";
import { ClientId } from "../stream/client-id.ts";
import { toCursor } from "../stream/cursor.ts";
import type { GrantResult } from "../stream/follower.ts";
import { Since } from "../stream/since.ts";
import { windowOrder, type Source, windowCondition } from "../stream/source.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { FeedComment, FeedQuery, isFeedComment, selectFeed, toFeedComment } from "./feed.ts";
import { lazyObject } from "../values/wire.ts";

export const FeedStreamQuery = lazyObject(() => ({ since: Since, client_id: ClientId, board_id: FeedQuery().shape.board_id }));

export const FeedEvent = lazyObject(() => ({ comment: FeedComment.describe("The new comment.") })).meta({
  id: "TaskCommentFeedEvent",
  description: "The data of a `comment` event.",
});

/**
 * Returns a source of new task comments for each member, on the boards that the member may read now. Members who may read the
 * same boards share a source.
 */
export async function followFeed(ctx: Context, members: readonly Member[], board_id?: string): Promise<GrantResult[]> {
  const visibleBoards = await readVisibleBoards(ctx, members, board_id);
  return members.map(({ active }, index) => {
    const visible = visibleBoards[index]!;
    if (visible.length > 0) return createSource(active.organization_id, visible);
    return board_id === undefined ? null : notFound();
  });
}

const order = { tx: activity_events.tx, seq: activity_events.seq, at: activity_events.created_at };

const createSource = (organization_id: string, visible: VisibleBoards): Source => ({
  key: `comments ${visible === "all" ? organization_id : hash("sha256", visible.join(), "base64url")}`,
  organization_id,
  event: "comment",
  async read(ctx, window) {
    const isVisible = visible === "all" ? undefined : sql`${activity_events}.board_id = any(${sql.param([...visible])}::uuid[])`;
    const ids = ctx.db
      .select({ id: activity_events.id })
      .from(activity_events)
      .where(and(eq(activity_events.organization_id, organization_id), isVisible, isFeedComment, windowCondition(window, order)))
      .orderBy(...windowOrder(window, order))
      .limit(window.limit);
    const rows = await selectFeed(ctx, ids).orderBy(...windowOrder(window, order));
    return rows.map((row) => ({ id: row.id, cursor: toCursor(row.tx, row.seq), data: { comment: toFeedComment(row) } }));
  },
});
