import { agent } from "@board/core/context/actor";
import { HeldLease, returnLease, TakeLease, takeLease } from "@board/core/task/lease/lease";
import { getTask } from "@board/core/task/list";
import { NextTask, takeNextTask, TakeNextTask } from "@board/core/task/lease/next";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../../endpoint.ts";
import { fenceOf } from "../../edge/fence.ts";
import { agentHints } from "./hints.ts";

const leasePath = "/api/v1/agent/boards/{board_id}/tasks/{task_id}/lease";

/** How agents take work: the next task, and the lease under which they hold it. */
export const agentTaskLeases = [
  endpoint(
    "POST",
    "/api/v1/agent/tasks/next",
    {
      as: agent,
      summary: "Take the next task",
      description:
        "Chooses a task, moves it to in_progress, assigns it to you and returns it with a lease: first your own work, then tasks assigned to you, then a free one. Without work the task is null.",
      operation_id: "agent_task_next",
      errors: [403],
      body: TakeNextTask,
      returns: NextTask,
      agent: agentHints({
        roles: ["main", "lead", "worker"],
        intent: "agent_task_next",
        when_to_use: ["You are idle and want work; no other request is needed to find and claim it"],
        when_not_to_use: ["You still work on a task: comment on it, which renews its lease"],
        side_effects: ["The task is in progress and yours until the lease ends"],
        negative_guidance: ["Do not run it again within `retry_after_seconds` when the task is null"],
        routing_policy: [
          "Send the fence as X-Task-Fence with each write to the task",
          "After 409 task_lease_lost, stop working on the task and take the next one",
        ],
      }),
    },
    (ctx, { body }) => takeNextTask(ctx, body),
  ),
  endpoint(
    "PUT",
    leasePath,
    {
      as: agent,
      summary: "Take or renew the lease of a task",
      description: "Starts the task if it waits in the inbox. Each call gives the lease a new fence.",
      operation_id: "agent_task_lease_take",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: TakeLease,
      fenced: true,
      returns: HeldLease,
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_task_lease_take",
        when_to_use: ["You chose a certain task, or a long step needs a longer lease"],
        when_not_to_use: ["Any task will do: take the next task instead", "You comment anyway: that renews the lease"],
        side_effects: ["The task is in progress and yours until the lease ends"],
        negative_guidance: ["After 409 task_already_claimed, choose another task and do not retry"],
        routing_policy: ["Replace the fence that you send as X-Task-Fence by the new one"],
      }),
    },
    (ctx, { params, body, http }) => takeLease(ctx, params.board_id, params.task_id, body, fenceOf(http.headers)),
  ),
  endpoint(
    "DELETE",
    leasePath,
    {
      as: agent,
      summary: "Give a task back",
      description: "Moves it to the inbox: free if it was free before, else still assigned to you.",
      operation_id: "agent_task_lease_return",
      fenced: true,
      returns: Ok,
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_task_lease_return",
        when_to_use: ["You cannot finish the task and somebody else should"],
        when_not_to_use: ["The task waits for an answer: move it to blocked with a comment"],
        side_effects: ["The task is in the inbox, and the lead is notified when it is free"],
        routing_policy: ["Say in a comment how far you got before you give a task back"],
      }),
    },
    async (ctx, { params, http }) => {
      await returnLease(ctx, params.board_id, params.task_id, fenceOf(http.headers));
      return ok;
    },
  ),
];
