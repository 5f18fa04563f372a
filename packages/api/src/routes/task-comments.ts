import { userOrAgent } from "@board/core/context/actor";
import { longPageQuery, pageOf } from "@board/core/lists/page";
import { listComments, createComment, TaskComment, CreateComment } from "@board/core/task/comment/comment";
import { getTask } from "@board/core/task/list";
import { fenceOf } from "../edge/fence.ts";
import { endpoint } from "../endpoint.ts";

export const taskComments = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/tasks/{task_id}/comments",
    {
      as: userOrAgent,
      summary: "List task comments",
      description: "Oldest first.",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id),
      query: longPageQuery(),
      returns: pageOf(TaskComment),
    },
    (ctx, { params, query }) => listComments(ctx, params.board_id, params.task_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/tasks/{task_id}/comments",
    {
      as: userOrAgent,
      summary: "Comment on a task",
      description: "Notifies the mentioned agents, or the assignee if no agent is mentioned. The author is never notified.",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: CreateComment,
      fenced: true,
      returns: TaskComment,
    },
    (ctx, { params, body, http }) => createComment(ctx, params.board_id, params.task_id, body, fenceOf(http.headers)),
  ),
];
