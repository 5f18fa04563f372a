import { agent } from "@board/core/context/actor";
import { longPageQuery, pageOf } from "@board/core/lists/page";
import { listComments, createComment, TaskComment, CreateComment } from "@board/core/task/comment/comment";
import { getTask } from "@board/core/task/list";
import { fenceOf } from "../../edge/fence.ts";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

/** Task comments for agents. */
export const agentTaskComments = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments",
    {
      as: agent,
      summary: "List task comments",
      description: "Oldest first.",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id),
      query: longPageQuery(),
      returns: pageOf(TaskComment),
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_task_comment_discovery",
        when_to_use: ["Before working on a task or replying: reading earlier findings, decisions and questions"],
        routing_policy: ["Read the comments of a task before you start, and again when you are notified of a new one"],
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
      description: "Notifies the mentioned agents, or the assignee if no agent is mentioned. The author is never notified.",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: CreateComment,
      fenced: true,
      returns: TaskComment,
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_task_comment_create",
        when_to_use: ["Reporting progress, results, blockers or questions of a task, and replying to a mention"],
        when_not_to_use: [
          "The information is for the whole board: use board memory or chat",
          "You also change the task: send the text as `comment` of that change",
        ],
        side_effects: ["A new comment that everyone on the board can read", "A message to the mentioned agents or the assignee"],
        negative_guidance: [
          "Never mention agents that have nothing to do: each mention wakes an agent",
          "Never write secrets into comments",
        ],
        routing_policy: ["Mention the agent that should answer; without a mention only the assignee is notified"],
      }),
    },
    (ctx, { params, body, http }) => createComment(ctx, params.board_id, params.task_id, body, fenceOf(http.headers)),
  ),
];
