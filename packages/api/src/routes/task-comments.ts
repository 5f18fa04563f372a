import { boardFor } from "@board/core/access";
import { userOrAgent } from "@board/core/actor";
import { longPageQuery, pageOf } from "@board/core/page";
import { listComments, createComment, TaskComment, CreateComment } from "@board/core/task/comment";
import { getTask } from "@board/core/task/list";
import { followTasks, TaskEvent, TaskStreamQuery } from "@board/core/task/stream";
import { endpoint } from "../endpoint.ts";

/** Task comments, and the stream of task changes. */
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
      returns: TaskComment,
    },
    (ctx, { params, body }) => createComment(ctx, params.board_id, params.task_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/tasks/stream",
    {
      as: userOrAgent,
      summary: "Follow tasks",
      description:
        "Server-sent events `task`, one when a task is created, changed, moved or commented on. Resumes after the event in Last-Event-ID.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: TaskStreamQuery,
      returns: TaskEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followTasks(ctx, params.board_id)),
  ),
];
