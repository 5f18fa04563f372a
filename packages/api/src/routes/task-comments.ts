import { boardFor } from "@board/core/access";
import { userOrAgent } from "@board/core/actor";
import { pageOf, pageQuery } from "@board/core/page";
import { listComments, postComment, TaskComment, WriteComment } from "@board/core/task/comment";
import { getTask } from "@board/core/task/list";
import { followTasks, TaskEvent, TaskStreamQuery } from "@board/core/task/stream";
import { endpoint } from "../endpoint.ts";

/** What is said about tasks, and what happens to them. */
export const taskComments = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/tasks/{task_id}/comments",
    {
      as: userOrAgent,
      summary: "List task comments",
      description: "What was said about a task, oldest first.",
      reaches: (ctx, params) => getTask(ctx, params.board_id, params.task_id),
      query: pageQuery(),
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
      description: "Tells the agents that it mentions; when it mentions none, the agent that has the task. Never the author.",
      reaches: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: WriteComment,
      returns: TaskComment,
    },
    (ctx, { params, body }) => postComment(ctx, params.board_id, params.task_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/tasks/stream",
    {
      as: userOrAgent,
      summary: "Follow tasks",
      description:
        "Server-sent events `task`: tasks that are made, changed, moved or commented on. Resumes after the event named by Last-Event-ID.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: TaskStreamQuery,
      returns: TaskEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followTasks(ctx, params.board_id)),
  ),
];
