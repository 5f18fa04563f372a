import * as z from "zod";
import type { Lead } from "@board/core/context/actor";
import { insertEvents } from "@board/core/activity/activity";
import type { Context } from "@board/core/context/context";
import { runBatch } from "@board/core/db/batch";
import { insertInboxMessages } from "@board/core/notification/inbox-message";
import { NUDGE_KIND } from "@board/core/notification/message-kind";
import { MAX_TEXT, NonEmpty, lazyObject } from "@board/core/values/wire";
import { dispatch } from "./dispatch.ts";
import { getAgentForLead, requireSessionKey } from "@board/core/agent/lookup";
import { requireUsableGateway } from "@board/core/gateway/target";

export const Nudge = lazyObject(() => ({
  message: NonEmpty(MAX_TEXT).describe("Text that is sent to the agent unchanged."),
})).meta({ id: "AgentNudge", "x-llm-intent": "agent_nudge", "x-when-to-use": ["Prompting an agent of the board to act now"] });
export type Nudge = z.infer<typeof Nudge>;

/** Sends a lead's text to an agent of the board unchanged. On a host the agent may reply on its own channel. */
export async function nudgeAgent(ctx: Context<Lead>, board_id: string, agent_id: string, { message }: Nudge): Promise<void> {
  const { agent, gateway } = await getAgentForLead(ctx, board_id, agent_id);
  const { organization_id, agent_id: sender_id } = ctx.actor;
  const event = { organization_id, board_id, agent_id: sender_id };
  const subject = `Nudge to ${agent.name}`;
  if (gateway.kind === "pull") {
    const to = { organization_id, board_id, agent_id: agent.id };
    const nudge = { ...to, kind: NUDGE_KIND, text: message, author_id: sender_id, task_id: null };
    const sent = { event_type: "agent.nudge.sent" as const, ...event, message: `${subject} sent.` };
    return runBatch(ctx, [insertInboxMessages([nudge]), insertEvents([sent])]);
  }
  const session_key = requireSessionKey(agent);
  requireUsableGateway(gateway);
  await dispatch(
    ctx,
    gateway,
    { session_key, label: agent.name, message, deliver: true },
    {
      sent: "agent.nudge.sent",
      failed: "agent.nudge.failed",
      subject,
      event,
      prefix: "Gateway nudge failed:",
    },
  );
}
