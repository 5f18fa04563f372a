import { FeedComment, FeedQuery, listFeed } from "@board/core/activity/feed";
import { member } from "@board/core/context/actor";
import { pageOf } from "@board/core/lists/page";
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
];
