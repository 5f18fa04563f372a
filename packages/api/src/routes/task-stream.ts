import { boardFor } from "@board/core/organization/access";
import { userOrAgent } from "@board/core/context/actor";
import { followTasks, TaskEvent, TaskStreamQuery } from "@board/core/task/stream";
import { endpoint } from "../endpoint.ts";

export const taskStream = [
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
