import type { Db } from "@board/core/context/db";
import { jobs } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";

/** Deletes the jobs that provision the agents created so far, since provisioning takes seconds and has separate tests. */
export async function skipProvisioning(db: Db): Promise<void> {
  await db.delete(jobs).where(eq(jobs.kind, "agent.provision"));
}
