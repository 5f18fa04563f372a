import type { Context } from "@board/core/context/context";
import { runWrite } from "@board/core/db/prepared-write";
import { insertJobs, type NewJob } from "@board/core/job/job";
import { listAgentsToRead } from "@board/core/usage/host-usage";

/** Creates a job for each agent whose usage is to be read, unless the agent's last job is still pending. */
export async function enqueueUsageReads(ctx: Context): Promise<void> {
  const jobs = (await listAgentsToRead(ctx)).map(
    ({ id: agent_id, gateway_id, organization_id }): NewJob => ({
      kind: "agent.read_usage",
      payload: { agent_id },
      options: { organization_id, gateway_id, dedupe_key: `usage/${agent_id}` },
    }),
  );
  if (jobs.length > 0) await runWrite(ctx, insertJobs(ctx, jobs));
}
