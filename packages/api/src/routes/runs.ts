import { userOrAgent } from "@board/core/context/actor";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { boardFor } from "@board/core/organization/access";
import { getRun, listRuns, listTaskRuns, Run, RunQuery } from "@board/core/run/run";
import { listSteps, StepPage, StepQuery } from "@board/core/run/steps/list";
import { requireStoppable, StopRun, stopRun } from "@board/core/run/stop";
import { getTask } from "@board/core/task/list";
import { endpoint } from "../endpoint.ts";

const runsPath = "/api/v1/boards/{board_id}/runs";

/** Runs: attempts of agents on tasks. */
export const runs = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/tasks/{task_id}/runs",
    {
      as: userOrAgent,
      summary: "List runs of a task",
      description: "Newest first.",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id),
      query: pageQuery(),
      returns: pageOf(Run),
    },
    (ctx, { params, query }) => listTaskRuns(ctx, params.board_id, params.task_id, query),
  ),
  endpoint(
    "GET",
    runsPath,
    {
      as: userOrAgent,
      summary: "List runs of a board",
      description: "Newest first.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: RunQuery,
      returns: pageOf(Run),
    },
    (ctx, { params, query }) => listRuns(ctx, params.board_id, query),
  ),
  endpoint("GET", `${runsPath}/{run_id}`, { as: userOrAgent, summary: "Get a run", returns: Run }, (ctx, { params }) =>
    getRun(ctx, params.board_id, params.run_id),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/runs/{run_id}/steps",
    {
      as: userOrAgent,
      summary: "List steps of a run",
      description: "What happened in the run, as reported by its agent or by the program that runs the agent.",
      authorize: (ctx, params) => getRun(ctx, params.board_id, params.run_id),
      query: StepQuery,
      returns: StepPage,
    },
    (ctx, { params, query }) => listSteps(ctx, params.board_id, params.run_id, query),
  ),
  endpoint(
    "POST",
    `${runsPath}/{run_id}/stop`,
    {
      as: userOrAgent,
      summary: "Stop a run",
      description:
        "The agent loses the task, which returns to the inbox without an assignee. Its next write under the fence is refused with `task_lease_lost` and the reason `stopped`, and it gets a message. Only people who may write to the board, and its lead, may do this.",
      errors: [403, 409],
      authorize: (ctx, params) => requireStoppable(ctx, params.board_id, params.run_id),
      body: StopRun,
      returns: Run,
    },
    (ctx, { params, body }) => stopRun(ctx, params.board_id, params.run_id, body),
  ),
];
