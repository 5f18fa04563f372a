import { boardFor } from "@board/core/organization/access";
import { main, user } from "@board/core/context/actor";
import { Board } from "@board/core/board/board";
import { ConfirmOnboarding, confirmOnboarding } from "@board/openclaw/onboarding/confirm";
import { Answer, answerOnboarding, boardForMainAgent, replyToOnboarding } from "@board/openclaw/onboarding/dialogue";
import { AgentReply } from "@board/openclaw/onboarding/draft";
import { getOnboarding, OnboardingSession } from "@board/openclaw/onboarding/session";
import { StartOnboarding, startOnboarding } from "@board/openclaw/onboarding/start";
import { endpoint } from "../endpoint.ts";

/** Onboarding: a conversation with the gateway's main agent, in which the goal and the lead of a board are defined. */
export const onboarding = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/onboarding",
    { as: user, summary: "Get the latest onboarding session", returns: OnboardingSession },
    (ctx, { params }) => getOnboarding(ctx, params.board_id),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/onboarding/start",
    {
      as: user,
      summary: "Start the onboarding of a board",
      description:
        "Asks the main agent to interview the user. If a session is active, returns it and reminds an agent that has not replied.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: StartOnboarding,
      returns: OnboardingSession,
    },
    (ctx, { params }) => startOnboarding(ctx, params.board_id),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/onboarding/answer",
    {
      as: user,
      summary: "Answer the main agent",
      errors: [409],
      description: "Returns 409 when the messages of the session would exceed onboarding_max_bytes; it can still be confirmed.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: Answer,
      returns: OnboardingSession,
    },
    (ctx, { params, body }) => answerOnboarding(ctx, params.board_id, body),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/onboarding/agent",
    {
      as: main,
      operation_id: "update_board_onboarding",
      summary: "Ask the user, or submit the draft",
      errors: [409],
      description: "For the main agent: submits one question, or the completion. The same operation exists under /api/v1/agent.",
      authorize: (ctx, params) => boardForMainAgent(ctx, params.board_id),
      body: AgentReply,
      returns: OnboardingSession,
    },
    (ctx, { params, body }) => replyToOnboarding(ctx, params.board_id, body),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/onboarding/confirm",
    {
      as: user,
      summary: "Confirm the onboarding",
      description:
        "Sets the goal of the board, updates the profile of the caller with the answers, and creates a lead if the board has none.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: ConfirmOnboarding,
      returns: Board,
    },
    (ctx, { params, body }) => confirmOnboarding(ctx, params.board_id, body),
  ),
];
