import { agent } from "@board/core/actor";
import { pageOf, pageQuery } from "@board/core/page";
import { listComments, postComment, TaskComment, WriteComment } from "@board/core/task/comment";
import { getTask } from "@board/core/task/list";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

/** Task comments as agents use them. */
export const agentTaskComments = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments",
    {
      as: agent,
      summary: "List task comments",
      description: "What was said about a task, oldest first.",
      reaches: (ctx, params) => getTask(ctx, params.board_id, params.task_id),
      query: pageQuery(),
      returns: pageOf(TaskComment),
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_task_comment_discovery",
        when_to_use: ["Before working on a task or answering on it: what was already said, found and asked for"],
        routing_policy: ["Read the comments of a task before its first step, and again when you are told of a new one"],
      }),
    },
    (ctx, { params, query }) => listComments(ctx, params.board_id, params.task_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments",
    {
      as: agent,
      summary: "Comment on a task",
      description: "Tells the agents that it mentions; when it mentions none, the agent that has the task. Never the author.",
      reaches: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: WriteComment,
      returns: TaskComment,
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_task_comment_create",
        when_to_use: ["Telling progress, results, blockers or questions of a task, and answering a mention"],
        when_not_to_use: [
          "It concerns the whole board: that is board memory or its chat",
          "It comes with a change of the task: send it as that change's `comment`",
        ],
        side_effects: ["A new comment that everybody on the board can read", "A message to the mentioned agents or the assignee"],
        negative_guidance: [
          "Never mention agents that have nothing to do: each mention wakes one",
          "Never write secrets into comments",
        ],
        routing_policy: ["Mention whom an answer is due from; otherwise the assignee alone is told"],
      }),
    },
    (ctx, { params, body }) => postComment(ctx, params.board_id, params.task_id, body),
  ),
];
