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
      description: "For a program that works on the task. The token allows nothing else, and is valid until the run ends.",
      errors: [404, 409],
      returns: RunToken,
      secrets: ["token"],
    },
    (ctx, { params }) => mintRunToken(ctx, params.run_id),
  ),
];
