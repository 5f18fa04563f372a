import type { Budgets } from "../config/budgets.ts";
import { DomainError } from "../values/errors.ts";
import { usedUp } from "../values/request-limits.ts";

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

/** Seconds after which a client that was refused or replaced should try again. */
export const STREAM_RETRY_SECONDS = 30;

type StreamBudgets = Pick<Budgets, "streams_per_caller" | "streams_per_organization">;

/**
 * Returns the ids of the open streams whose place a new one takes: those before of its client. Without a free place it is
 * refused. It never ends another stream, because pages that reconnect at once would end each other without end.
 */
export function admitStream(open: readonly OpenStream[], added: AddedStream, budgets: StreamBudgets): string[] {
  const isOwn = ({ caller_id }: OpenStream) => caller_id === added.caller_id;
  const isReplaced = (stream: OpenStream) =>
    isOwn(stream) && stream.client_key !== null && stream.client_key === added.client_key;
  const others = open.filter((stream) => !isReplaced(stream));
  requirePlace("streams_per_caller", others.filter(isOwn).length, budgets, "under your name");
  if (added.organization_id !== null) {
    const ofOrganization = others.filter(({ organization_id }) => organization_id === added.organization_id);
    requirePlace("streams_per_organization", ofOrganization.length, budgets, "in this organization");
  }
  return open.filter(isReplaced).map(({ id }) => id);
}

function requirePlace(name: keyof StreamBudgets, taken: number, budgets: StreamBudgets, where: string): void {
  const quota = budgets[name];
  if (quota === 0 || taken < quota) return;
  throw new DomainError("limited", `Too many streams are open ${where}: close one, or try again later`, {
    retry_after_seconds: STREAM_RETRY_SECONDS,
    limit: usedUp(name, quota, STREAM_RETRY_SECONDS),
  });
}
