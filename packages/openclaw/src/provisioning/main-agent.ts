import { and, eq, getTableColumns, isNull } from "drizzle-orm";
import { mainSessionKey } from "@board/core/context/actor";
import { recordAudit } from "@board/core/audit/record";
import type { Context } from "@board/core/context/context";
import { actingActor, actingAs } from "@board/core/db/change-actor";
import { changedNow } from "@board/core/schema/columns";
import type { GatewayRow } from "@board/core/gateway/target";
import { agents } from "@board/core/schema/agent.sql";
import { actingUserId, enqueueCleanups, enqueueProvision, enqueueUpdate } from "@board/core/agent/jobs";
import { mintToken, toStoredToken } from "@board/core/agent/token";

const PROFILE = { role: "Gateway Agent", communication_style: "direct, concise, practical", emoji: ":compass:" };

const mainAgentName = (gateway: { name: string }) => `${gateway.name} Gateway Agent`;
const isMainAgentOf = (gateway_id: string) => and(eq(agents.gateway_id, gateway_id), isNull(agents.board_id));

/**
 * Creates the main agent of a gateway if it is missing, with a job that provisions it. Returns true when it was created. A unique
 * index allows one main agent per gateway. Runs in the caller's transaction.
 */
export async function createMainAgentIfMissing(ctx: Context, gateway: GatewayRow): Promise<boolean> {
  const [existing] = await ctx.db.select({ id: agents.id }).from(agents).where(isMainAgentOf(gateway.id));
  if (existing) return false;
  const auth_token = mintToken();
  const [created] = await ctx.db
    .insert(agents)
    .values({
      gateway_id: gateway.id,
      name: mainAgentName(gateway),
      identity_profile: PROFILE,
      openclaw_session_id: mainSessionKey(gateway.id),
      lifecycle_generation: 1,
      ...(await toStoredToken(ctx.settings.token_pepper, auth_token)),
    })
    .onConflictDoNothing()
    .returning({ ...getTableColumns(agents), acting: actingActor(ctx) });
  if (!created) return false;
  const { organization_id } = gateway;
  await enqueueProvision(ctx, created, { organization_id, user_id: actingUserId(ctx), reset: false, deliver: true, auth_token });
  await recordAudit(ctx, "agent.created", { organization_id, target: created, after: { board_id: null, is_board_lead: false } });
  return true;
}

/**
 * Enqueues an update of the main agent's files, in the transaction that changes the gateway. If the agent's name was derived from
 * the gateway's name, it changes too. A custom name stays the same.
 */
export async function updateMainAgent(ctx: Context, before: { name: string }, gateway: GatewayRow): Promise<void> {
  const [main] = await ctx.db
    .select()
    .from(agents)
    .where(and(isMainAgentOf(gateway.id), actingAs(ctx)))
    .for("no key update");
  if (!main) return;
  if (main.name === mainAgentName(before) && main.name !== mainAgentName(gateway))
    await ctx.db
      .update(agents)
      .set({ name: mainAgentName(gateway), ...changedNow })
      .where(eq(agents.id, main.id));
  const { organization_id } = gateway;
  await enqueueUpdate(ctx, main, { organization_id, user_id: actingUserId(ctx), reset: false });
}

/** Deletes the main agent of a gateway that is being deleted, and enqueues its removal from the host. */
export async function removeMainAgent(ctx: Context, gateway: GatewayRow): Promise<void> {
  const removed = await ctx.db
    .delete(agents)
    .where(and(isMainAgentOf(gateway.id), actingAs(ctx)))
    .returning();
  await enqueueCleanups(ctx, gateway, removed);
}
