import { eq } from "drizzle-orm";
import type { System } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { contactHost } from "../host/open.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { type GatewayRow, isUsableGateway, toTarget } from "./target.ts";
import { trackConnectivity } from "../provisioning/connectivity.ts";
import { type SessionMessage, sendMessage } from "../host/session.ts";

/** Sends a job's message to a session of a stored gateway and records its connectivity. Rejects with a GatewayError. */
export function sendToSession(ctx: Context<System>, gateway: GatewayRow, message: SessionMessage): Promise<void> {
  const target = toTarget(ctx, gateway);
  return trackConnectivity(ctx, gateway, async () => {
    await contactHost(ctx, target);
    await sendMessage(ctx.gateways, target, message);
  });
}

/** The gateway, or null when it was removed or has no url. */
export async function findUsableGateway(ctx: Context, gateway_id: string): Promise<GatewayRow | null> {
  const [row] = await ctx.db.select().from(gateways).where(eq(gateways.id, gateway_id));
  return row && isUsableGateway(row) ? row : null;
}
