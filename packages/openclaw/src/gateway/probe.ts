import { and, asc, eq, gt } from "drizzle-orm";
import type { Context } from "@board/core/context/context";
import { runWrite } from "@board/core/db/prepared-write";
import { insertJobs, type NewJob } from "@board/core/job/job";
import { gateways } from "@board/core/schema/gateway.sql";

/** The probes of one run are spread over this time, so that the service does not connect to all hosts at once. */
const PROBE_SPREAD_MS = 60_000;
/** Number of jobs that one statement creates. */
const BATCH = 50;

/** Creates a probe job for each gateway with a host, unless the gateway's last probe job is still pending. */
export async function enqueueProbes(ctx: Context): Promise<void> {
  let after: string | undefined;
  do {
    const page = await ctx.db
      .select({ id: gateways.id, organization_id: gateways.organization_id })
      .from(gateways)
      .where(and(eq(gateways.kind, "openclaw"), after === undefined ? undefined : gt(gateways.id, after)))
      .orderBy(asc(gateways.id))
      .limit(BATCH);
    if (page.length > 0)
      await runWrite(
        ctx,
        insertJobs(
          ctx,
          page.map((gateway) => toProbe(ctx, gateway)),
        ),
      );
    after = page.length < BATCH ? undefined : page.at(-1)!.id;
  } while (after !== undefined);
}

function toProbe(ctx: Context, { id: gateway_id, organization_id }: { id: string; organization_id: string }): NewJob {
  const run_at = new Date(ctx.now().getTime() + Math.random() * PROBE_SPREAD_MS);
  return {
    kind: "gateway.probe",
    payload: { gateway_id },
    options: { organization_id, gateway_id, dedupe_key: `probe/${gateway_id}`, run_at },
  };
}
