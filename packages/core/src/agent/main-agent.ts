import { and, eq, isNull } from "drizzle-orm";
import { mainSessionKey } from "../actor.ts";
import type { Context } from "../context.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { agents } from "./agent.sql.ts";
import { enqueueCleanups } from "./cleanup.ts";
import { mintToken, storedToken } from "./token.ts";

const PROFILE = { role: "Gateway Agent", communication_style: "direct, concise, practical", emoji: ":compass:" };

/** The main agent of a gateway, made when it is missing. One per gateway, by a unique index. */
export async function createMainAgent(ctx: Context, gateway: { id: string; name: string }): Promise<void> {
  const [present] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.gateway_id, gateway.id), isNull(agents.board_id)));
  if (present) return;
  await ctx.db
    .insert(agents)
    .values({
      gateway_id: gateway.id,
      name: `${gateway.name} Gateway Agent`,
      identity_profile: PROFILE,
      openclaw_session_id: mainSessionKey(gateway.id),
      lifecycle_generation: 1,
      ...(await storedToken(ctx.settings.token_pepper, mintToken())),
    })
    .onConflictDoNothing();
}

/** Removes the main agent of a gateway that is going, from its host too. */
export async function removeMainAgent(ctx: Context, gateway: GatewayRow): Promise<void> {
  const removed = await ctx.db
    .delete(agents)
    .where(and(eq(agents.gateway_id, gateway.id), isNull(agents.board_id)))
    .returning();
  await enqueueCleanups(ctx, gateway, removed);
}
