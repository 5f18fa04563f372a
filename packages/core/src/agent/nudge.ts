import * as z from "zod";
import type { Lead } from "../actor.ts";
import type { Context } from "../context.ts";
import { MAX_TEXT, NonEmpty } from "../wire.ts";
import { dispatch, requireUsable, sessionOf } from "./coordination/host.ts";
import { targetOfLead } from "./lookup.ts";

export const Nudge = z
  .object({ message: NonEmpty(MAX_TEXT).describe("What the agent is told, word for word.") })
  .meta({ id: "AgentNudge", "x-llm-intent": "agent_nudge", "x-when-to-use": ["Prompting an agent of the board to act now"] });
export type Nudge = z.infer<typeof Nudge>;

/** Says something to an agent of the board, in the lead's own words; its answer may leave on its own channel. */
export async function nudgeAgent(ctx: Context<Lead>, board_id: string, agent_id: string, { message }: Nudge): Promise<void> {
  const { agent, gateway } = await targetOfLead(ctx, board_id, agent_id);
  const session_key = sessionOf(agent);
  requireUsable(gateway);
  const { organization_id, agent_id: by } = ctx.actor;
  await dispatch(
    ctx,
    gateway,
    { session_key, label: agent.name, message, deliver: true },
    {
      sent: "agent.nudge.sent",
      failed: "agent.nudge.failed",
      what: `Nudge to ${agent.name}`,
      about: { organization_id, board_id, agent_id: by },
      prefix: "Gateway nudge failed:",
    },
  );
}
