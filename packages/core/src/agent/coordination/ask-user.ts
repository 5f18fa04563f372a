import { and, eq, isNull } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../../access.ts";
import { type Lead, mainSessionKey } from "../../actor.ts";
import type { Context } from "../../context.ts";
import { gateways } from "../../gateway/gateway.sql.ts";
import { Blankable, Id, MAX_NAME, MAX_TEXT, NonEmpty } from "../../wire.ts";
import { agents } from "../agent.sql.ts";
import { dispatch, requireUsable } from "./host.ts";
import { correlationId, replySource, replyTags } from "./letter.ts";
import { askUserText } from "./message.ts";

export const AskUser = z
  .object({
    content: NonEmpty(MAX_TEXT).describe("What the user is asked, with all that is needed to answer."),
    correlation_id: correlationId,
    preferred_channel: Blankable(MAX_NAME).default(null).describe("Where the user would best be asked."),
    reply_tags: replyTags(["gateway_main", "user_reply"]),
    reply_source: replySource("user_via_gateway_main"),
  })
  .meta({
    id: "GatewayMainAskUserRequest",
    "x-llm-intent": "human_escalation_request",
    "x-when-to-use": ["A decision or a fact is needed that only the user can give"],
  });
export type AskUser = z.infer<typeof AskUser>;

export const AskedUser = z
  .object({
    ok: z.literal(true).describe("The main agent has the request."),
    board_id: Id.describe("Board whose lead asks."),
    main_agent_id: Id.nullable().describe("Main agent that asks the user."),
    main_agent_name: z.string().nullable().describe("Its name."),
  })
  .meta({
    id: "GatewayMainAskUserResponse",
    description: "Who asks the user.",
    "x-llm-intent": "human_escalation_result",
    "x-when-to-use": ["Noting who was asked to reach the user, and for which board"],
  });
export type AskedUser = z.infer<typeof AskedUser>;

/** Shown for a main agent that has no row at the moment: its session is there all the same. */
const LABEL = "Gateway Agent";

/** Has the main agent of the board's gateway ask the user something. The answer comes into the memory of the board. */
export async function askUser(ctx: Context<Lead>, board_id: string, asked: AskUser): Promise<AskedUser> {
  const board = await boardFor(ctx, board_id, "write");
  const { gateway, main } = await findMain(ctx, board);
  requireUsable(gateway);
  const { actor } = ctx;
  await dispatch(
    ctx,
    gateway,
    {
      session_key: mainSessionKey(gateway.id),
      label: main?.name ?? LABEL,
      message: askUserText({ ...asked, from: actor.name }, board, ctx.settings.service_url),
      deliver: true,
    },
    {
      sent: "gateway.lead.ask_user.sent",
      failed: "gateway.lead.ask_user.failed",
      what: `Request of ${actor.name} to ask the user`,
      about: { organization_id: board.organization_id, board_id: board.id, agent_id: actor.agent_id },
      prefix: "Gateway ask-user dispatch failed:",
    },
  );
  return { ok: true, board_id: board.id, main_agent_id: main?.id ?? null, main_agent_name: main?.name ?? null };
}

async function findMain(ctx: Context, { gateway_id, organization_id }: BoardRow) {
  const [found] = await ctx.db
    .select({ gateway: gateways, main: { id: agents.id, name: agents.name } })
    .from(gateways)
    .leftJoin(agents, and(eq(agents.gateway_id, gateways.id), isNull(agents.board_id)))
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  return found ?? { gateway: null, main: null };
}
