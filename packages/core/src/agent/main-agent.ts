import { and, eq, isNull } from "drizzle-orm";
import { mainSessionKey } from "../actor.ts";
import type { Context } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { agents } from "./agent.sql.ts";
import { enqueueCleanups } from "./cleanup.ts";
import { actingUser, enqueueProvision, enqueueUpdate } from "./lifecycle.ts";
import { mintToken, storedToken } from "./token.ts";

const PROFILE = { role: "Gateway Agent", communication_style: "direct, concise, practical", emoji: ":compass:" };

const nameOf = (gateway: { name: string }) => `${gateway.name} Gateway Agent`;
const mainOf = (gateway_id: string) => and(eq(agents.gateway_id, gateway_id), isNull(agents.board_id));

/**
 * The main agent of a gateway, made when it is missing, and then brought onto its host by a job. One per gateway, by a
 * unique index. In the caller's transaction; true when it was made.
 */
export async function createMainAgent(ctx: Context, gateway: GatewayRow): Promise<boolean> {
  const [present] = await ctx.db.select({ id: agents.id }).from(agents).where(mainOf(gateway.id));
  if (present) return false;
  const auth_token = mintToken();
  const [made] = await ctx.db
    .insert(agents)
    .values({
      gateway_id: gateway.id,
      name: nameOf(gateway),
      identity_profile: PROFILE,
      openclaw_session_id: mainSessionKey(gateway.id),
      lifecycle_generation: 1,
      ...(await storedToken(ctx.settings.token_pepper, auth_token)),
    })
    .onConflictDoNothing()
    .returning();
  if (!made) return false;
  const { organization_id } = gateway;
  await enqueueProvision(ctx, made, { organization_id, user_id: actingUser(ctx), reset: false, deliver: true, auth_token });
  return true;
}

/**
 * Has the files of the main agent say what its gateway says now, in the transaction that changes the gateway. Named after
 * the gateway it goes on being so; a name of its own it keeps.
 */
export async function updateMainAgent(ctx: Context, before: { name: string }, gateway: GatewayRow): Promise<void> {
  const [main] = await ctx.db.select().from(agents).where(mainOf(gateway.id)).for("no key update");
  if (!main) return;
  if (main.name === nameOf(before) && main.name !== nameOf(gateway))
    await ctx.db
      .update(agents)
      .set({ name: nameOf(gateway), ...changedNow })
      .where(eq(agents.id, main.id));
  const { organization_id } = gateway;
  await enqueueUpdate(ctx, main, { organization_id, user_id: actingUser(ctx), reset: false });
}

/** Removes the main agent of a gateway that is going, from its host too. */
export async function removeMainAgent(ctx: Context, gateway: GatewayRow): Promise<void> {
  const removed = await ctx.db.delete(agents).where(mainOf(gateway.id)).returning();
  await enqueueCleanups(ctx, gateway, removed);
}
