import { FeedComment, FeedQuery, listFeed } from "@board/core/activity/feed";
import { FeedEvent, FeedStreamQuery, followFeed } from "@board/core/activity/feed-stream";
import { member } from "@board/core/actor";
import { pageOf } from "@board/core/page";
import { endpoint } from "../endpoint.ts";

const feedSpec = {
  as: member,
  summary: "List task comments of all boards",
  errors: [404],
  description: "Comments on all boards that the caller may read, newest first.",
  returns: pageOf(FeedComment),
} as const;

/** Task comments across boards. */
export const taskCommentFeed = [
  endpoint("GET", "/api/v1/activity/task-comments", { ...feedSpec, query: FeedQuery() }, (ctx, { query }) =>
    listFeed(ctx, query),
  ),
  endpoint("GET", "/api/activity/task-comments", { ...feedSpec, query: FeedQuery(50, 100) }, (ctx, { query }) =>
    listFeed(ctx, query),
  ),
  endpoint(
    "GET",
    ["/api/v1/activity/task-comments/stream", "/api/activity/task-comments/stream"],
    {
      as: member,
      summary: "Follow task comments of all boards",
      errors: [404],
      description:
        "Server-sent events `comment`, one per new comment on the boards that the caller may read at that moment. Resumes after the event in Last-Event-ID.",
      query: FeedStreamQuery,
      returns: FeedEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { query, http }) =>
      http.stream(query.since, { followAll: (ctx, members) => followFeed(ctx, members, query.board_id) }),
  ),
];
