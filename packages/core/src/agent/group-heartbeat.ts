import { and, asc, eq, inArray, sql } from "drizzle-orm";
import * as z from "zod";
import { groupFor } from "../organization/access.ts";
import type { Admin, Lead } from "../context/actor.ts";
import { boards } from "../schema/board.sql.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { changedNow } from "../schema/columns.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { isUsableGateway } from "../gateway/target.ts";
import { Id, valueError, lazyObject } from "../values/wire.ts";
import { agents } from "../schema/agent.sql.ts";
import { DEFAULT_HEARTBEAT } from "./heartbeat-config.ts";
import { enqueueHeartbeatConfig } from "./jobs.ts";
import { truncatable } from "../lists/large-fields.ts";

export const SetGroupHeartbeat = lazyObject(() => ({
  every: z
    .string()
    .regex(/^[1-9][0-9]{0,4}[smhd]$/, valueError("every must be a number up to 99999 and one of s, m, h, d, such as 10m"))
    .describe("Time between heartbeats: a number and one of s, m, h, d."),
  include_board_leads: z.boolean().default(false).describe("Whether to change the heartbeats of leads too."),
})).meta({ id: "BoardGroupHeartbeatSet" });
export type SetGroupHeartbeat = z.infer<typeof SetGroupHeartbeat>;

export const GroupHeartbeat = lazyObject(() => ({
  board_group_id: Id.describe("Id of the group."),
  requested: z
    .object({
      every: z.string().describe("Time between heartbeats."),
      include_board_leads: z.boolean().describe("Whether the heartbeats of leads were to change too."),
    })
    .describe("The settings of the request."),
  updated_agent_ids: z.array(Id).describe("Agents whose setting is stored; their hosts apply it shortly."),
  failed_agent_ids: z.array(Id).describe("Agents whose gateway has no address or no workspace root; they are unchanged."),
  ...truncatable,
})).meta({ id: "BoardGroupHeartbeat", description: "The outcome for each agent of the group." });
export type GroupHeartbeat = z.infer<typeof GroupHeartbeat>;

/**
 * Sets how often the agents of a group's boards wake up. The setting is stored at once, and one job per gateway applies it on the
 * host.
 */
export function setGroupHeartbeat(
  ctx: Context<Admin | Lead>,
  group_id: string,
  requested: SetGroupHeartbeat,
): Promise<GroupHeartbeat> {
  return transaction(ctx, async (ctx) => {
    const group = await groupFor(ctx, group_id, "write");
    const candidates = await ctx.db
      .select({ id: agents.id, gateway: gateways })
      .from(agents)
      .innerJoin(boards, eq(boards.id, agents.board_id))
      .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
      .where(
        and(eq(boards.board_group_id, group.id), requested.include_board_leads ? undefined : eq(agents.is_board_lead, false)),
      )
      .orderBy(asc(agents.created_at), asc(agents.id));
    const isUsable = ({ gateway }: (typeof candidates)[number]) => isUsableGateway(gateway, { needs_workspace: true });
    const updated = candidates.filter(isUsable);
    const failed = candidates.filter((candidate) => !isUsable(candidate));
    await storeHeartbeat(ctx, idsOf(updated), { every: requested.every, target: "last" });
    const { organization_id } = group;
    for (const [gateway_id, gatewayAgents] of Map.groupBy(updated, ({ gateway }) => gateway.id))
      await enqueueHeartbeatConfig(ctx, { gateway_id, organization_id }, idsOf(gatewayAgents));
    return {
      board_group_id: group.id,
      requested,
      updated_agent_ids: idsOf(updated),
      failed_agent_ids: idsOf(failed),
    };
  });
}

const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);

/** Merges the settings into each row's own settings, in one statement. Rows that already have these settings are left out. */
async function storeHeartbeat(ctx: Context, ids: string[], heartbeat: { every: string; target: string }): Promise<void> {
  const next = sql`(${JSON.stringify(DEFAULT_HEARTBEAT)}::jsonb || coalesce(${agents.heartbeat_config}, '{}') || ${JSON.stringify(heartbeat)}::jsonb)`;
  await ctx.db
    .update(agents)
    .set({ heartbeat_config: next, ...changedNow })
    .where(and(inArray(agents.id, ids), sql`${agents.heartbeat_config} is distinct from ${next}`, actingAs(ctx)));
}
