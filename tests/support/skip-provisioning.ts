import type { Db } from "@board/core/context";
import { jobs } from "@board/core/db/schema";
import { eq } from "drizzle-orm";

/** Agents made so far are not brought onto their hosts, which takes seconds each and has tests of its own. */
export async function skipProvisioning(db: Db): Promise<void> {
  await db.delete(jobs).where(eq(jobs.kind, "agent.provision"));
}
