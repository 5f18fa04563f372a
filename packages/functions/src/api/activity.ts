import { activity } from "@board/api/routes/activity";
import { taskCommentFeed } from "@board/api/routes/task-comment-feed";
import { taskCommentStream } from "@board/api/routes/task-comment-stream";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...activity, ...taskCommentFeed, ...taskCommentStream]);
