import { mintRunToken, RunToken } from "@board/core/agent/run-token";
import { agent } from "@board/core/context/actor";
import { endpoint } from "../../endpoint.ts";

/** The token that a runner gives to a coding agent. */
export const agentRunToken = [
  endpoint(
    "POST",
    "/api/v1/agent/runs/{run_id}/token",
    {
      as: agent,
      summary: "Make the token of a run",
      description:
        "A token with which a coding agent reads, comments on and updates the task of this run, asks for approvals of it, writes the memory of its board and reports usage. It ends with the run. A new token replaces the one before.",
      operation_id: "agent_run_token",
      errors: [404, 409],
      returns: RunToken,
      secrets: ["token"],
      agent: "agent_run_token",
    },
    (ctx, { params }) => mintRunToken(ctx, params.run_id),
  ),
];
