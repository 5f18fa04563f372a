import type { JobHandler } from "@board/core/job/handler";
import { probeVersion, recordConnectivity, storeConnectivity } from "./connectivity.ts";
import { toTarget, findUsableGateway } from "@board/core/gateway/target";
import { FIRST_CONTACT_MS } from "../host/open.ts";
import { GatewayError } from "../wire/gateway-error.ts";
import { checkVersion } from "../wire/version.ts";
import { checkAgentFiles } from "./lost-files.ts";

/**
 * Connects to a host, records its connectivity and looks for agents that lost their files. An unreachable host is a result
 * of the job and not a failure.
 */
export const probeHost: JobHandler<"gateway.probe"> = {
  async run(ctx, { gateway_id }) {
    const gateway = await findUsableGateway(ctx, gateway_id);
    if (!gateway) return;
    const started_at = ctx.now();
    const version = await probeVersion(ctx, toTarget(ctx, gateway), FIRST_CONTACT_MS);
    if (version instanceof GatewayError) return recordConnectivity(ctx, gateway, version, started_at);
    const verdict = checkVersion(version, ctx.settings.gateway_min_version);
    const last_error = verdict.kind === "ok" ? null : verdict.message;
    await storeConnectivity(ctx, gateway, { connected: true, version, last_error });
    await checkAgentFiles(ctx, gateway);
  },
};
