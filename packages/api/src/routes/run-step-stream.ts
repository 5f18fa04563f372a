import { userOrAgent } from "@board/core/context/actor";
import { getRun } from "@board/core/run/run";
import { Step } from "@board/core/run/steps/step";
import { followSteps, StepStreamQuery } from "@board/core/run/steps/stream";
import { endpoint } from "../endpoint.ts";

export const runStepStream = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/runs/{run_id}/steps/stream",
    {
      as: userOrAgent,
      summary: "Follow steps of a run",
      description: "Server-sent events `step`, one per step. Resumes after the event in Last-Event-ID.",
      authorize: (ctx, params) => getRun(ctx, params.board_id, params.run_id),
      query: StepStreamQuery,
      returns: Step,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followSteps(ctx, params.board_id, params.run_id)),
  ),
];
