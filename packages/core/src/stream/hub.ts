import { setImmediate } from "node:timers/promises";
import type { Context } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import { errorText } from "../values/log.ts";
import { type Cursor, isAfter } from "./cursor.ts";
import { catchUp, type Follower, type GrantResult, sendBatch, type ReadBatch } from "./follower.ts";
import { createHints } from "./hints.ts";
import { type Horizon, readHorizon } from "./horizon.ts";
import { type Batch, readBatch, type Source } from "./source.ts";
import { chunk } from "../values/chunk.ts";
import { createLimiter } from "../values/concurrency.ts";

export const POLL_MS = 2_000;

/** All streams of a process. */
export interface Hub {
  /** Adds a follower. It first gets the rows of transactions below the horizon, then the new rows of every poll. */
  add(follower: Follower, horizon: bigint): void;
  /** Continues with a follower whose client is ready again. */
  resume(follower: Follower): void;
  remove(follower: Follower): void;
  /**
   * Polls the streams of these organizations now, because their rows have changed. Without this call, the rows would be sent at
   * the next poll of the timer.
   */
  pollSoon(organizations: ReadonlySet<string>): void;
}

/**
 * If a poll that `pollSoon` requested finds no rows, it checks access again only if the last check is older than this, in
 * milliseconds. Under load such polls come many times a second.
 */
const RENEW_AFTER_MS = 500;

/** Limits the database connections that streams use, so that some stay free for requests. */
const MAX_CONCURRENT_READS = 4;

/** Grants per renewal: enough to need few statements, but not so many that they block the event loop. */
const RENEW_BATCH_SIZE = 100;

/**
 * How many followers are written to before the event loop serves requests again. The number is small, because each step of a
 * request may have to wait for a whole batch.
 */
const SEND_BATCH_SIZE = 5;

/**
 * Polls for all streams of a process: one statement for the horizon, one for each source that may have new rows, and batched
 * renewals of grants. It holds no connection between polls, and its timer stops when there are no followers.
 */
export function createHub(context: () => Context, poll_ms = POLL_MS): Hub {
  const followers = new Set<Follower>();
  const catchingUp = new Set<Follower>();
  const pollsInProgress = new Map<string, Promise<void>>();
  const limit = createLimiter(MAX_CONCURRENT_READS);
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  const renewedAt = new WeakMap<Follower, number>();
  const hints = createHints(pollHinted, logFailure);
  const fetchHorizon = async () => (await limit(() => readHorizon(context()))).horizon;

  /**
   * Logs a failed poll. The failure loses nothing: a follower's position moves only when rows are sent, so the next poll reads
   * the same rows.
   */
  function logFailure(error: unknown): void {
    context().log.warn("stream.poll_failed", errorText(error));
  }

  async function pollAll(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    try {
      void pollSources(followers, await fetchHorizon(), renewGrants);
    } catch (error) {
      logFailure(error);
    } finally {
      isPolling = false;
    }
  }

  /** Polls the sources of these followers, except sources that are already being polled. Returns the polls. */
  function pollSources(some: Iterable<Follower>, horizon: bigint, renew: Renew): Promise<void>[] {
    const polls: Promise<void>[] = [];
    for (const [key, group] of Map.groupBy(some, sourceKeyOf)) {
      if (pollsInProgress.has(key)) continue;
      const poll = pollSource(group, horizon, renew)
        .catch(logFailure)
        .finally(() => pollsInProgress.delete(key));
      pollsInProgress.set(key, poll);
      polls.push(poll);
    }
    return polls;
  }

  const followersOf = (organizations: ReadonlySet<string>) =>
    [...followers].filter(({ source }) => source !== null && organizations.has(source.organization_id));

  async function pollHinted(organizations: ReadonlySet<string>): Promise<Horizon> {
    // A poll that is in progress may have read its rows before the change.
    await Promise.all(followersOf(organizations).flatMap((follower) => pollsInProgress.get(sourceKeyOf(follower)) ?? []));
    const horizon = await limit(() => readHorizon(context()));
    await Promise.all(pollSources(followersOf(organizations), horizon.horizon, renewIfDue));
    return horizon;
  }

  /** Reads rows before it renews grants, so that a follower only gets rows that were committed while it had access. */
  async function pollSource(group: Follower[], horizon: bigint, renew: Renew): Promise<void> {
    const source = group[0]!.source;
    const read = readBelow(horizon);
    const live = group.filter((follower) => follower.isLive);
    let batch = live.length > 0 ? await read(source, { after: minCursor(live), since: null }) : null;
    const renewed = await renew(group, source, batch);
    while (batch) {
      const receivers = live.filter((follower) => renewed.has(follower) && follower.isLive && follower.source === source);
      for (const receiversOfChunk of chunk(receivers, SEND_BATCH_SIZE)) {
        for (const follower of receiversOfChunk) sendBatch(follower, batch);
        await setImmediate();
      }
      batch = batch.isComplete || receivers.length === 0 ? null : await read(source, { after: batch.reached, since: null });
    }
    for (const follower of renewed) startCatchUp(follower, async () => horizon);
  }

  /**
   * Returns the followers that still have access, and ends the streams of the others. A follower whose renewal failed waits for
   * the next poll.
   */
  async function renewGrants(group: Follower[], source: Source | null): Promise<Set<Follower>> {
    const renewed = new Set<Follower>();
    const groupsByKey = [...Map.groupBy(group, ({ grant }) => grant.key).values()];
    const renewBatch = async (groups: Follower[][]): Promise<void> => {
      const grants = groups.map(([first]) => first!.grant);
      const results = await limit(() => grants[0]!.renew(grants));
      for (const [index, sameKey] of groups.entries()) applyResult(sameKey, results[index]!);
    };
    const applyResult = (sameKey: Follower[], result: GrantResult): void => {
      for (const follower of sameKey)
        if (result instanceof DomainError) {
          remove(follower);
          follower.client.end();
        } else {
          renewedAt.set(follower, performance.now());
          follower.source = result?.key === source?.key ? source : result;
          renewed.add(follower);
        }
    };
    const kinds = Map.groupBy(groupsByKey, ([first]) => first!.grant.kind);
    const batches = [...kinds.values()].flatMap((kind) => chunk(kind, RENEW_BATCH_SIZE));
    await Promise.all(batches.map((groups) => renewBatch(groups).catch(logFailure)));
    return renewed;
  }

  /** Renews grants like `renewGrants`, except when there are no rows and access was checked less than `RENEW_AFTER_MS` ago. */
  const renewIfDue: Renew = async (group, source, batch) => {
    const since = performance.now() - RENEW_AFTER_MS;
    const isRenewed = (follower: Follower) => follower.isLive && (renewedAt.get(follower) ?? Number.NEGATIVE_INFINITY) > since;
    return batch?.events.length === 0 && group.every(isRenewed) ? new Set(group) : renewGrants(group, source);
  };

  /** Reads rows for a follower that is behind, either because it is new or because its client was slow. */
  function startCatchUp(follower: Follower, getHorizon: () => Promise<bigint>): void {
    if (follower.isLive || catchingUp.has(follower) || !followers.has(follower)) return;
    catchingUp.add(follower);
    const read = async () => catchUp(follower, readBelow(await getHorizon()));
    const continueIfReady = () => {
      catchingUp.delete(follower);
      // The client may have become ready just when reading stopped. In that case, nothing else would continue the follower.
      if (follower.client.isReady()) startCatchUp(follower, getHorizon);
    };
    void read().then(continueIfReady, (error: unknown) => {
      catchingUp.delete(follower);
      logFailure(error);
    });
  }

  const readBelow =
    (horizon: bigint): ReadBatch =>
    (source, position) =>
      limit(() => readBatch(context(), source, position, horizon));

  function remove(follower: Follower): void {
    followers.delete(follower);
    if (followers.size === 0) clearInterval(timer);
  }

  return {
    add(follower, horizon) {
      if (followers.size === 0) timer = setInterval(() => void pollAll(), poll_ms).unref();
      followers.add(follower);
      startCatchUp(follower, async () => horizon);
    },
    pollSoon(organizations) {
      const followed = new Set(followersOf(organizations).map(({ source }) => source!.organization_id));
      if (followed.size > 0) hints.add(followed);
    },
    resume: (follower) => startCatchUp(follower, fetchHorizon),
    remove,
  };
}

/** Renews the grants of followers, and returns the followers that may get the rows of a batch. */
type Renew = (group: Follower[], source: Source | null, batch: Batch | null) => Promise<Set<Follower>>;

/** Returns the key of a follower's source. Followers without a source form a separate group. */
const sourceKeyOf = ({ source }: Follower) => source?.key ?? "";

const minCursor = (group: Follower[]): Cursor =>
  group.map(({ after }) => after).reduce((least, after) => (isAfter(least, after) ? after : least));
