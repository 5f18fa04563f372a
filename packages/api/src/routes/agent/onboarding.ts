import { main } from "@board/core/actor";
import { boardOfMain, replyToOnboarding } from "@board/core/onboarding/dialogue";
import { AgentReply } from "@board/core/onboarding/draft";
import { OnboardingSession } from "@board/core/onboarding/session";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

/** The main agent's side of a board's onboarding. */
export const agentOnboarding = [
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/onboarding",
    {
      as: main,
      operation_id: "agent_update_board_onboarding",
      summary: "Ask the user, or hand in the draft",
      errors: [409],
      description:
        "One question, or the completion of a board's onboarding. Only the main agent of the board's gateway may call it.",
      reaches: (ctx, params) => boardOfMain(ctx, params.board_id),
      body: AgentReply,
      returns: OnboardingSession,
      agent: hints({
        intent: "agent_board_onboarding_update",
        when_to_use: ["Replying to a BOARD ONBOARDING REQUEST or to the answer of its user"],
        when_not_to_use: ["The previous question has no answer yet", "The onboarding is confirmed"],
        prerequisites: ["A valid agent token in X-Agent-Token", "An onboarding session that a user has started"],
        side_effects: ["The user sees the question; a completion becomes the draft that the user confirms"],
        negative_guidance: ["Never send several questions at once", "Never invent what the user did not say"],
        routing_policy: ["One question per reply; the completion once six to ten questions are answered"],
      }),
    },
    (ctx, { params, body }) => replyToOnboarding(ctx, params.board_id, body),
  ),
];
