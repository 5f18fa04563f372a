import type { Budgets } from "../config/budgets.ts";
import { DomainError } from "../values/errors.ts";
import { usedUp } from "../values/request-limits.ts";

/** The owners whose budgets a stream counts toward. */
export interface StreamOwner {
  /** Id of the user or agent. All streams of the user or agent count together, even with different tokens. */
  caller_id: string;
  /** The organization whose rows are streamed; null for a user without an organization, whose stream has no rows. */
  organization_id: string | null;
}

export interface AddedStream extends StreamOwner {
  /** Identifies the client and the rows that it follows; null for a client that sent no id. */
  client_key: string | null;
}

export interface OpenStream extends AddedStream {
  id: string;
}

/** How many seconds a refused or replaced client should wait before it tries again. */
export const STREAM_RETRY_SECONDS = 30;

type StreamBudgets = Pick<Budgets, "streams_per_caller" | "streams_per_organization">;

/**
 * Returns the ids of the client's earlier streams of the same rows, which the new stream replaces. Throws `limited` if the budget
 * is used up even without them. It ends no other streams, because pages that reconnect at once would keep ending each other's
 * streams.
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
