import { asc, gt } from "drizzle-orm";
import type { Context } from "../context.ts";
import { runBatch } from "../db/batch.ts";
import type { JobHandler } from "../job/handler.ts";
import { FIRST_CONTACT_MS } from "../host/open.ts";
import { insertJob } from "../job/job.ts";
import { GatewayError } from "../openclaw/gateway-error.ts";
import { gateways } from "./gateway.sql.ts";
import { probeVersion, recordConnectivity, storeConnectivity } from "./connectivity.ts";
import { findUsableGateway } from "./send.ts";
import { toTarget } from "./target.ts";
import { checkVersion } from "../openclaw/version.ts";

/** The probes of one run are spread over this time, so that the service does not connect to all hosts at once. */
const PROBE_SPREAD_MS = 60_000;
/** Number of jobs that one statement creates. */
const BATCH = 50;

/** Creates a probe job for each gateway, unless the gateway's last probe job is still pending. */
export async function enqueueProbes(ctx: Context): Promise<void> {
  let after: string | undefined;
  do {
    const page = await ctx.db
      .select({ id: gateways.id, organization_id: gateways.organization_id })
      .from(gateways)
      .where(after === undefined ? undefined : gt(gateways.id, after))
      .orderBy(asc(gateways.id))
      .limit(BATCH);
    if (page.length > 0)
      await runBatch(
        ctx,
        page.map((gateway) => insertProbe(ctx, gateway)),
      );
    after = page.length < BATCH ? undefined : page.at(-1)!.id;
  } while (after !== undefined);
}

function insertProbe(ctx: Context, { id: gateway_id, organization_id }: { id: string; organization_id: string }) {
  const run_at = new Date(ctx.now().getTime() + Math.random() * PROBE_SPREAD_MS);
  return insertJob(
    ctx,
    "gateway.probe",
    { gateway_id },
    { organization_id, gateway_id, dedupe_key: `probe/${gateway_id}`, run_at },
  );
}

/** Connects to a host and records its connectivity. An unreachable host is a result of the job and not a failure. */
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
  },
};
