import { and, eq, isNull } from "drizzle-orm";
import * as z from "zod";
import { createApproval } from "@board/core/approval/create";
import { CreateApproval } from "@board/core/approval/input";
import { QUESTION } from "@board/core/approval/question";
import { type BoardRow, boardFor } from "@board/core/organization/access";
import { type Lead, mainSessionKey } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { gateways } from "@board/core/schema/gateway.sql";
import { TextOrNull, Id, MAX_NAME, MAX_TEXT, NonEmpty, lazyObject } from "@board/core/values/wire";
import { agents } from "@board/core/schema/agent.sql";
import { dispatch } from "./dispatch.ts";
import { requireUsableGateway } from "@board/core/gateway/target";
import { correlationId, replySource, replyTags } from "./reply-fields.ts";
import { askUserText } from "./message.ts";

export const AskUser = lazyObject(() => ({
  content: NonEmpty(MAX_TEXT).describe("The question, with everything the user needs to answer it."),
  correlation_id: correlationId,
  preferred_channel: TextOrNull(MAX_NAME).default(null).describe("Channel on which the user prefers to be asked."),
  reply_tags: replyTags(["gateway_main", "user_reply"]),
  reply_source: replySource("user_via_gateway_main"),
})).meta({
  id: "GatewayMainAskUserRequest",
  "x-llm-intent": "human_escalation_request",
  "x-when-to-use": ["A decision or a fact is needed that only the user can give"],
});
export type AskUser = z.infer<typeof AskUser>;

export const AskUserResponse = lazyObject(() => ({
  ok: z.literal(true).describe("The user is asked."),
  board_id: Id.describe("Board whose lead asks."),
  main_agent_id: Id.nullable().describe("Main agent that asks the user."),
  main_agent_name: z.string().nullable().describe("Name of that main agent."),
})).meta({
  id: "GatewayMainAskUserResponse",
  description: "Which main agent asks the user, and for which board.",
  "x-llm-intent": "human_escalation_result",
  "x-when-to-use": ["Noting which main agent asks the user, and for which board"],
});
export type AskUserResponse = z.infer<typeof AskUserResponse>;

/** The label of the session if the main agent has no row in the database. The host may still have its session. */
const MAIN_AGENT_LABEL = "Gateway Agent";

/**
 * Asks the user through the main agent of the board's gateway. The answer arrives in the board's memory. If there is no main agent,
 * people get the question as an approval, and the lead gets the answer. A host still gets the message, because the session of a
 * removed main agent may exist there.
 */
export async function askUser(ctx: Context<Lead>, board_id: string, request: AskUser): Promise<AskUserResponse> {
  const board = await boardFor(ctx, board_id, "write");
  const { gateway, main } = await findMain(ctx, board);
  if (gateway?.kind === "pull") return askByQuestion(ctx, board, request);
  requireUsableGateway(gateway);
  const { actor } = ctx;
  await dispatch(
    ctx,
    gateway,
    {
      session_key: mainSessionKey(gateway.id),
      label: main?.name ?? MAIN_AGENT_LABEL,
      message: askUserText({ ...request, from: actor }, board, ctx.settings.service_url),
      deliver: true,
    },
    {
      sent: "gateway.lead.ask_user.sent",
      failed: "gateway.lead.ask_user.failed",
      subject: `Request of ${actor.name} to ask the user`,
      event: { organization_id: board.organization_id, board_id: board.id, agent_id: actor.agent_id },
      prefix: "Gateway ask-user dispatch failed:",
    },
  );
  if (!main) return askByQuestion(ctx, board, request);
  return { ok: true, board_id: board.id, main_agent_id: main.id, main_agent_name: main.name };
}

async function askByQuestion(
  ctx: Context<Lead>,
  { id: board_id }: BoardRow,
  { content, correlation_id }: AskUser,
): Promise<AskUserResponse> {
  const payload = correlation_id === null ? null : { correlation_id };
  await createApproval(ctx, board_id, CreateApproval.parse({ action_type: QUESTION, text: content, payload }));
  return { ok: true, board_id, main_agent_id: null, main_agent_name: null };
}

async function findMain(ctx: Context, { gateway_id, organization_id }: BoardRow) {
  const [row] = await ctx.db
    .select({ gateway: gateways, main: { id: agents.id, name: agents.name } })
    .from(gateways)
    .leftJoin(agents, and(eq(agents.gateway_id, gateways.id), isNull(agents.board_id)))
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  return row ?? { gateway: null, main: null };
}
