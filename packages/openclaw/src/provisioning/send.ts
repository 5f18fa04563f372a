import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { contactHost } from "../host/open.ts";
import { type GatewayRow, toTarget } from "@board/core/gateway/target";
import { trackConnectivity } from "./connectivity.ts";
import { sendMessage } from "../host/session.ts";
import type { SessionMessage } from "@board/core/context/session-message";

/** Sends a job's message to a session of a stored gateway and records its connectivity. Rejects with a GatewayError. */
export function sendToSession(ctx: Context<System>, gateway: GatewayRow, message: SessionMessage): Promise<void> {
  const target = toTarget(ctx, gateway);
  return trackConnectivity(ctx, gateway, async () => {
    await contactHost(ctx, target);
    await sendMessage(ctx.gateways, target, message);
  });
}
