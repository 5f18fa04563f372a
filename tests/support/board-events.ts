import type { BoardEvent } from "@board/core/context/event-body";
import { jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import type { JobRow } from "@board/core/job/job";
import { and, asc, eq, lte } from "drizzle-orm";
import type { World } from "./world.ts";

/** Returns the jobs that publish events, in the order of their creation. */
export const listPublishJobs = (world: World): Promise<JobRow[]> =>
  world.db.select().from(jobs).where(eq(jobs.kind, "event.publish")).orderBy(asc(jobs.seq));

/** Runs only the due jobs that publish events. */
export async function deliverPublishJobs(world: World): Promise<void> {
  const due = and(eq(jobs.kind, "event.publish"), eq(jobs.status, "queued"), lte(jobs.run_at, world.now()));
  for (const { id } of await world.db.select({ id: jobs.id }).from(jobs).where(due).orderBy(asc(jobs.seq)))
    await deliver(world.context(), id);
}

/** Returns an example of a published event. */
export const boardEvent = (more: Partial<BoardEvent> = {}): BoardEvent =>
  ({
    version: 1,
    id: crypto.randomUUID(),
    type: "task.created",
    occurred_at: "2026-11-20T10:24:09.799Z",
    organization_id: crypto.randomUUID(),
    board_id: crypto.randomUUID(),
    actor: { type: "system", id: null },
    subject: { type: "task", id: crypto.randomUUID() },
    status: "inbox",
    assigned_agent_id: null,
    ...more,
  }) as BoardEvent;
