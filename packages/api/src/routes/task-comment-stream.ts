import { FeedEvent, FeedStreamQuery, followFeed } from "@board/core/activity/feed-stream";
import { member } from "@board/core/context/actor";
import { endpoint } from "../endpoint.ts";

/** The stream of task comments across boards. */
export const taskCommentStream = [
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
