import { eq } from "drizzle-orm";
import type { Context } from "../context.ts";
import { gateways } from "./gateway.sql.ts";
import { type GatewayRow, isUsableGateway, toTarget } from "./target.ts";
import { trackConnectivity } from "./connectivity.ts";
import { type SessionMessage, sendMessage } from "../host/session.ts";

/** Sends a message to a session of a stored gateway and records the gateway's connectivity. Rejects with a GatewayError. */
export function sendToSession(ctx: Context, gateway: GatewayRow, message: SessionMessage): Promise<void> {
  return trackConnectivity(ctx, gateway, () => sendMessage(ctx.gateways, toTarget(ctx, gateway), message));
}

/** The gateway, or null when it was removed or has no url. */
export async function findUsableGateway(ctx: Context, gateway_id: string): Promise<GatewayRow | null> {
  const [row] = await ctx.db.select().from(gateways).where(eq(gateways.id, gateway_id));
  return row && isUsableGateway(row) ? row : null;
}
