/**
 * What the relay must look at after a unit of work: lanes whose head may have changed, and jobs without a lane; or everything,
 * after a crash and on schedule. Because they are named, the cost of a relay does not depend on the backlog.
 */
export interface PendingWakeups {
  lanes: Set<string>;
  ids: Set<string>;
  everything: boolean;
}

export const createPendingWakeups = (everything = false): PendingWakeups => ({ lanes: new Set(), ids: new Set(), everything });

export const hasPendingWakeups = ({ lanes, ids, everything }: PendingWakeups): boolean =>
  everything || lanes.size > 0 || ids.size > 0;

/** Notes that a job or the head of its lane may have become runnable. */
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
