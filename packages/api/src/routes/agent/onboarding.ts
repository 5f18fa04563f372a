import { main } from "@board/core/context/actor";
import { boardForMainAgent, replyToOnboarding } from "@board/openclaw/onboarding/dialogue";
import { AgentReply } from "@board/openclaw/onboarding/draft";
import { OnboardingSession } from "@board/openclaw/onboarding/session";
import { endpoint } from "../../endpoint.ts";

/** Onboarding of a board, for the main agent. */
export const agentOnboarding = [
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/onboarding",
    {
      as: main,
      operation_id: "agent_update_board_onboarding",
      summary: "Ask the user, or submit the draft",
      errors: [409],
      description:
        "Submits one question, or the completion of the onboarding. Only the main agent of the board's gateway may call it.",
      authorize: (ctx, params) => boardForMainAgent(ctx, params.board_id),
      body: AgentReply,
      returns: OnboardingSession,
      agent: "agent_board_onboarding_update",
    },
    (ctx, { params, body }) => replyToOnboarding(ctx, params.board_id, body),
  ),
];
