/**
 * The jobs and lanes that the relay must check after a unit of work: jobs without a lane, and lanes whose first job may have
 * changed. The cost of the relay then does not depend on the backlog. After a crash and on schedule, the relay checks everything.
 */
export interface PendingWakeups {
  lanes: Set<string>;
  ids: Set<string>;
  everything: boolean;
}

export const createPendingWakeups = (everything = false): PendingWakeups => ({ lanes: new Set(), ids: new Set(), everything });

export const hasPendingWakeups = ({ lanes, ids, everything }: PendingWakeups): boolean =>
  everything || lanes.size > 0 || ids.size > 0;

/** Records that a job or the first job of its lane may have become runnable. */
export function addPendingWakeup(pending: PendingWakeups, job: { id: string; lane: string | null }): void {
  if (job.lane === null) pending.ids.add(job.id);
  else pending.lanes.add(job.lane);
}

/** Adds all pending wake-ups of `from` to `into`. */
export function mergePendingWakeups(into: PendingWakeups, from: PendingWakeups): void {
  for (const lane of from.lanes) into.lanes.add(lane);
  for (const id of from.ids) into.ids.add(id);
  into.everything ||= from.everything;
}
