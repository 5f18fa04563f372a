import { boardFor } from "@board/core/access";
import { main, user } from "@board/core/actor";
import { Board } from "@board/core/board/board";
import { ConfirmOnboarding, confirmOnboarding } from "@board/core/onboarding/confirm";
import { Answer, answerOnboarding, boardOfMain, replyToOnboarding } from "@board/core/onboarding/dialogue";
import { AgentReply } from "@board/core/onboarding/draft";
import { getOnboarding, OnboardingSession } from "@board/core/onboarding/session";
import { StartOnboarding, startOnboarding } from "@board/core/onboarding/start";
import { endpoint } from "../endpoint.ts";

/** A conversation with the gateway's main agent that settles goal and lead of a board. */
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
      summary: "Start the onboarding",
      description:
        "Asks the main agent to interview the user. An active session is returned, and an agent that owes a reply is told again.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
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
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
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
      summary: "Ask the user, or hand in the draft",
      errors: [409],
      description: "For the main agent: one question, or the completion; the same as under /api/v1/agent.",
      reaches: (ctx, params) => boardOfMain(ctx, params.board_id),
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
      summary: "Confirm the goal",
      description: "Gives the board its goal, the caller what was learned about them, and the board its lead when it has none.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: ConfirmOnboarding,
      returns: Board,
    },
    (ctx, { params, body }) => confirmOnboarding(ctx, params.board_id, body),
  ),
];
