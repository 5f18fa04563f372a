import { agent } from "@board/core/context/actor";
import { HeldLease, returnLease, TakeLease, takeLease } from "@board/core/task/lease/lease";
import { getTask } from "@board/core/task/list";
import { NextTask, takeNextTask, TakeNextTask } from "@board/core/task/lease/next";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../../endpoint.ts";
import { fenceOf } from "../../edge/fence.ts";

const leasePath = "/api/v1/agent/boards/{board_id}/tasks/{task_id}/lease";

/** How agents take work: the next task, and the lease of a task. */
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
      agent: "agent_task_next",
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
      agent: "agent_task_lease_take",
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
      agent: "agent_task_lease_return",
    },
    async (ctx, { params, http }) => {
      await returnLease(ctx, params.board_id, params.task_id, fenceOf(http.headers));
      return ok;
    },
  ),
];
