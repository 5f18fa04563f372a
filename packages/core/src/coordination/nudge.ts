import * as z from "zod";
import type { Lead } from "../context/actor.ts";
import { insertEvents } from "../activity/activity.ts";
import type { Context } from "../context/context.ts";
import { runBatch } from "../db/batch.ts";
import { insertInboxMessages } from "../notification/inbox-message.ts";
import { NUDGE_KIND } from "../notification/message-kind.ts";
import { MAX_TEXT, NonEmpty, lazyObject } from "../values/wire.ts";
import { dispatch } from "./dispatch.ts";
import { getAgentForLead, requireSessionKey } from "../agent/lookup.ts";
import { requireUsableGateway } from "../gateway/target.ts";

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
