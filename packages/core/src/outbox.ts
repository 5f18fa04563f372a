/**
 * What a unit of work leaves for the relay: lanes whose head may have changed, jobs that stand in no lane, or, after a
 * crash or by the clock, everything. Naming them keeps a relay's cost apart from the length of the backlog.
 */
export interface Outbox {
  lanes: Set<string>;
  ids: Set<string>;
  everything: boolean;
}

export const createOutbox = (everything = false): Outbox => ({ lanes: new Set(), ids: new Set(), everything });

export const isWaiting = ({ lanes, ids, everything }: Outbox): boolean => everything || lanes.size > 0 || ids.size > 0;

/** Notes that a job can perhaps be taken now. */
export function note(outbox: Outbox, job: { id: string; lane: string | null }): void {
  if (job.lane === null) outbox.ids.add(job.id);
  else outbox.lanes.add(job.lane);
}

/** Moves what is in one outbox to another. */
export function merge(into: Outbox, from: Outbox): void {
  for (const lane of from.lanes) into.lanes.add(lane);
  for (const id of from.ids) into.ids.add(id);
  into.everything ||= from.everything;
}
