import { main } from "@board/core/context/actor";
import { boardForMainAgent, replyToOnboarding } from "@board/openclaw/onboarding/dialogue";
import { AgentReply } from "@board/openclaw/onboarding/draft";
import { OnboardingSession } from "@board/openclaw/onboarding/session";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

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
      agent: agentHints({
        intent: "agent_board_onboarding_update",
        when_to_use: ["Replying to a BOARD ONBOARDING REQUEST, or to an answer of the user"],
        when_not_to_use: ["The previous question has no answer yet", "The onboarding is confirmed"],
        prerequisites: ["A valid agent token in X-Agent-Token", "An onboarding session that a user has started"],
        side_effects: ["The user sees the question; a completion becomes the draft that the user confirms"],
        negative_guidance: ["Never send several questions at once", "Never invent answers of the user"],
        routing_policy: ["Ask one question per reply; submit the completion after six to ten answers"],
      }),
    },
    (ctx, { params, body }) => replyToOnboarding(ctx, params.board_id, body),
  ),
];
