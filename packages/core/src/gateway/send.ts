import { eq } from "drizzle-orm";
import type { Context } from "../context.ts";
import { gateways } from "./gateway.sql.ts";
import { type GatewayRow, toTarget } from "./target.ts";
import { trackingReach } from "./reach.ts";
import { type SessionMessage, sendMessage } from "./session.ts";

/** Sends a text into a session of a stored gateway and keeps the gateway's state true to the outcome. Rejects with a GatewayError. */
export function sendVia(ctx: Context, gateway: GatewayRow, message: SessionMessage): Promise<void> {
  return trackingReach(ctx, gateway, () => sendMessage(ctx.gateways, toTarget(ctx, gateway), message));
}

/** The gateway, when it is still there and can be dialled. */
export async function findUsableGateway(ctx: Context, gateway_id: string): Promise<GatewayRow | null> {
  const [row] = await ctx.db.select().from(gateways).where(eq(gateways.id, gateway_id));
  return row?.url.trim() ? row : null;
}
