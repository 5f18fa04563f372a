import { asc, gt } from "drizzle-orm";
import type { Context } from "../context.ts";
import { writeTogether } from "../db/together.ts";
import type { JobHandler } from "../deliver.ts";
import { newJob } from "../job/job.ts";
import { GatewayError } from "./client.ts";
import { gateways } from "./gateway.sql.ts";
import { askVersion, recordReach, storeReach } from "./reach.ts";
import { findUsableGateway } from "./send.ts";
import { toTarget } from "./target.ts";
import { checkVersion } from "./version.ts";

/** The probes of one run are spread over this time, so that not all hosts are dialled at once. */
const SPREAD_MS = 60_000;
/** Jobs in one statement. */
const BATCH = 50;

/** Has every host tried, one job each. A host whose last probe still waits gets no second one. */
export async function enqueueProbes(ctx: Context): Promise<void> {
  let after: string | undefined;
  do {
    const found = await ctx.db
      .select({ id: gateways.id, organization_id: gateways.organization_id })
      .from(gateways)
      .where(after === undefined ? undefined : gt(gateways.id, after))
      .orderBy(asc(gateways.id))
      .limit(BATCH);
    if (found.length > 0)
      await writeTogether(
        ctx,
        found.map((gateway) => newProbe(ctx, gateway)),
      );
    after = found.length < BATCH ? undefined : found.at(-1)!.id;
  } while (after !== undefined);
}

function newProbe(ctx: Context, { id: gateway_id, organization_id }: { id: string; organization_id: string }) {
  const run_at = new Date(ctx.now().getTime() + Math.random() * SPREAD_MS);
  return newJob(ctx, "gateway.probe", { gateway_id }, { organization_id, gateway_id, dedupe_key: `probe/${gateway_id}`, run_at });
}

/** Tries a host and keeps what is shown of it true. That a host is away is what there is to find out, and no failure of the job. */
export const probeHost: JobHandler<"gateway.probe"> = {
  async run(ctx, { gateway_id }) {
    const gateway = await findUsableGateway(ctx, gateway_id);
    if (!gateway) return;
    const version = await askVersion(ctx, toTarget(ctx, gateway));
    if (version instanceof GatewayError) return recordReach(ctx, gateway, version);
    const verdict = checkVersion(version, ctx.settings.gateway_min_version);
    const last_error = verdict.kind === "ok" ? null : verdict.message;
    await storeReach(ctx, gateway, { connected: true, version, last_error });
  },
};
