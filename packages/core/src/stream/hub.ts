import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { errorText } from "../log.ts";
import { type Cursor, isBeyond } from "./cursor.ts";
import { catchUp, type Follower, hand, type Read } from "./follower.ts";
import { readBatch, readHorizon, type Source } from "./source.ts";
import { takeTurns } from "./turns.ts";

export const POLL_MS = 2_000;

/** The streams of one process. */
export interface Hub {
  /** Sends a follower what is below the horizon, and from then on what every poll finds. */
  add(follower: Follower, below: bigint): void;
  /** Its client keeps up again. */
  resume(follower: Follower): void;
  remove(follower: Follower): void;
}

/** However many streams are polled at once, this many connections are enough, and the others are left to requests. */
const MOST_AT_A_TIME = 4;

/**
 * Polls for all streams of a process: one statement for the horizon, one per source in which something may be new, and
 * one renewal per grant. Between polls nothing is held, and without followers nothing runs.
 */
export function createHub(context: () => Context, poll_ms = POLL_MS): Hub {
  const followers = new Set<Follower>();
  const reading = new Set<Follower>();
  const polling = new Set<string>();
  const turn = takeTurns(MOST_AT_A_TIME);
  let timer: NodeJS.Timeout | undefined;
  let looking = false;
  const horizon = () => turn(() => readHorizon(context()));

  /** A failure costs a round, never a stream: places move only with what was sent. */
  function failed(error: unknown): void {
    context().log.warn("stream.poll_failed", errorText(error));
  }

  async function round(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      const below = await horizon();
      for (const [key, group] of Map.groupBy(followers, keyOf)) {
        if (polling.has(key)) continue;
        polling.add(key);
        void poll(group, below)
          .catch(failed)
          .finally(() => polling.delete(key));
      }
    } catch (error) {
      failed(error);
    } finally {
      looking = false;
    }
  }

  /** Reads before the grants are renewed: what is sent was committed while its receiver had access. */
  async function poll(group: Follower[], below: bigint): Promise<void> {
    const source = group[0]!.source;
    const read = readBelow(below);
    const live = group.filter((one) => one.live);
    let batch = live.length > 0 ? await read(source, { after: lowest(live), since: null }) : null;
    const renewed = await renewAll(group, source);
    while (batch) {
      const receivers = live.filter((one) => renewed.has(one) && one.live && one.source === source);
      for (const one of receivers) hand(one, batch);
      batch = batch.complete || receivers.length === 0 ? null : await read(source, { after: batch.reached, since: null });
    }
    for (const one of renewed) readAlone(one, async () => below);
  }

  /** Those who still have access; whoever has lost it is gone. One whose grant could not be renewed waits for the next round. */
  async function renewAll(group: Follower[], source: Source | null): Promise<Set<Follower>> {
    const renewed = new Set<Follower>();
    const renew = async (same: Follower[]): Promise<void> => {
      try {
        const granted = await turn(() => same[0]!.grant.renew());
        for (const one of same) {
          one.source = granted?.key === source?.key ? source : granted;
          renewed.add(one);
        }
      } catch (error) {
        if (!(error instanceof DomainError)) return failed(error);
        for (const one of same) {
          remove(one);
          one.client.end();
        }
      }
    };
    await Promise.all([...Map.groupBy(group, (one) => one.grant.key).values()].map(renew));
    return renewed;
  }

  /** For a follower that is behind: the first time, or because its client was slow. */
  function readAlone(follower: Follower, horizon: () => Promise<bigint>): void {
    if (follower.live || reading.has(follower) || !followers.has(follower)) return;
    reading.add(follower);
    void horizon()
      .then((below) => catchUp(follower, readBelow(below)))
      .catch(failed)
      .finally(() => reading.delete(follower));
  }

  const readBelow =
    (below: bigint): Read =>
    (source, place) =>
      turn(() => readBatch(context(), source, place, below));

  function remove(follower: Follower): void {
    followers.delete(follower);
    if (followers.size === 0) clearInterval(timer);
  }

  return {
    add(follower, below) {
      if (followers.size === 0) timer = setInterval(() => void round(), poll_ms).unref();
      followers.add(follower);
      readAlone(follower, async () => below);
    },
    resume: (follower) => readAlone(follower, horizon),
    remove,
  };
}

/** Silence is a group of its own. */
const keyOf = ({ source }: Follower) => source?.key ?? "";

const lowest = (group: Follower[]): Cursor =>
  group.map(({ after }) => after).reduce((least, after) => (isBeyond(least, after) ? after : least));
