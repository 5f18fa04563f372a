import type { Budgets } from "../budgets.ts";
import { DomainError } from "../errors.ts";
import { usedUp } from "../noted-limits.ts";

/** Whose budgets a stream uses. */
export interface StreamOwner {
  /** The user or the agent; its tokens do not count separately. */
  caller_id: string;
  /** The organization of the rows; null for a user without one who follows nothing. */
  organization_id: string | null;
}

export interface AddedStream extends StreamOwner {
  /** Names the client and what it follows; null for a client without an id. */
  client_key: string | null;
}

export interface OpenStream extends AddedStream {
  id: string;
}

/** Seconds after which a client that was refused or evicted should try again. */
export const STREAM_RETRY_SECONDS = 30;

type StreamBudgets = Pick<Budgets, "streams_per_caller" | "streams_per_organization">;

/**
 * Returns the ids of the open streams, given oldest first, that a new one evicts. It takes the place of the one before of
 * its client, else of its caller's oldest, because a client that has gone may go unnoticed, and in a full organization that
 * of a caller with two streams more than its own. Without such a caller it is refused.
 */
export function admitStream(open: readonly OpenStream[], added: AddedStream, budgets: StreamBudgets): string[] {
  const per_caller = budgets.streams_per_caller || Number.POSITIVE_INFINITY;
  const per_organization = budgets.streams_per_organization || Number.POSITIVE_INFINITY;
  const isOwn = ({ caller_id }: OpenStream) => caller_id === added.caller_id;
  const isReplaced = ({ client_key }: OpenStream) => client_key !== null && client_key === added.client_key;
  const own = open.filter((stream) => isOwn(stream) && !isReplaced(stream));
  const evicted = [
    ...open.filter((stream) => isOwn(stream) && isReplaced(stream)),
    ...own.slice(0, Math.max(0, own.length + 1 - per_caller)),
  ];
  if (added.organization_id === null) return evicted.map(({ id }) => id);

  const others = open.filter((stream) => stream.organization_id === added.organization_id && !evicted.includes(stream));
  if (others.length < per_organization) return evicted.map(({ id }) => id);
  const byCaller = [...Map.groupBy(others, ({ caller_id }) => caller_id).values()];
  const most = byCaller.reduce((longest, streams) => (streams.length > longest.length ? streams : longest));
  if (most.length < others.filter(isOwn).length + 2) throw organizationFull(per_organization);
  return [...evicted, most[0]!].map(({ id }) => id);
}

const organizationFull = (quota: number) =>
  new DomainError("limited", "Too many streams are open in this organization: close one, or try again later", {
    retry_after_seconds: STREAM_RETRY_SECONDS,
    limit: usedUp("streams_per_organization", quota, STREAM_RETRY_SECONDS),
  });
