import { activity } from "@board/api/routes/activity";
import { taskCommentFeed } from "@board/api/routes/task-comment-feed";
import { serve } from "../serve.ts";

export const handler = serve([...activity, ...taskCommentFeed]);
