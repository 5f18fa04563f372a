import type { JobHandler } from "@board/core/job/handler";
import { findUsableGateway, toTarget } from "@board/core/gateway/target";
import { beginUsageReading, bookHostUsage } from "@board/core/usage/host-usage";
import { addMs, DAY_MS } from "@board/core/values/time";
import { GatewayError } from "../wire/gateway-error.ts";
import { toToldUsage } from "./session-usage.ts";

/**
 * Reads from an agent's host what the agent has used, and counts what is new. If the host does not report usage, nothing is
 * counted. If the host is unreachable, a later job reads the usage.
 */
export const readAgentUsage: JobHandler<"agent.read_usage"> = {
  async run(ctx, { agent_id }) {
    const reading = await beginUsageReading(ctx, agent_id);
    const gateway = reading && (await findUsableGateway(ctx, reading.agent.gateway_id));
    if (!gateway) return;
    const key = reading.agent.openclaw_session_id;
    // A host's day may end later than the UTC day, so the range includes the next UTC day.
    const endDate = addMs(ctx.now(), DAY_MS).toISOString().slice(0, 10);
    try {
      const payload = await ctx.gateways.request(toTarget(ctx, gateway), "sessions.usage", {
        key,
        startDate: reading.since,
        endDate,
      });
      const told = toToldUsage(payload, key);
      return (ctx) => bookHostUsage(ctx, reading, told);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      if (error.is_transient || error.is_refusal) return;
      return (ctx) => bookHostUsage(ctx, reading, { session: null, is_counting: false });
    }
  },
};
