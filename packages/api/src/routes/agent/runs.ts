import { agent } from "@board/core/context/actor";
import { readOwnRun, UpdateRun, updateRun } from "@board/core/run/report";
import { Run } from "@board/core/run/run";
import { PostSteps, StoredSteps } from "@board/core/run/steps/step";
import { storeStepsWithUsage } from "@board/core/usage/steps";
import { endpoint } from "../../endpoint.ts";

/**
 * Operations by which programs that run agents report about runs. They have no intent, so they are not in the documents of agents,
 * which models read.
 */
export const agentRuns = [
  endpoint(
    "PATCH",
    "/api/v1/agent/runs/{run_id}",
    {
      as: agent,
      summary: "Update your run",
      description:
        "Stores which program works on the task, its results, or why the run ends. Possible until a day after the end of the run.",
      operation_id: "agent_run_update",
      errors: [409],
      authorize: (ctx, params) => readOwnRun(ctx, params.run_id),
      body: UpdateRun,
      returns: Run,
    },
    (ctx, { params, body }) => updateRun(ctx, params.run_id, body),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/runs/{run_id}/steps",
    {
      as: agent,
      summary: "Add steps to your run",
      description:
        "`from` is the number of the first step: repeated steps are stored once, and a gap is refused with 409 and `next`. Steps of the kind `usage` count as usage of the run. Possible until a day after the end of the run. A full run drops further steps.",
      operation_id: "agent_run_steps_add",
      errors: [409],
      authorize: (ctx, params) => readOwnRun(ctx, params.run_id),
      body: PostSteps,
      returns: StoredSteps,
    },
    (ctx, { params, body }) => storeStepsWithUsage(ctx, params.run_id, body),
  ),
];
