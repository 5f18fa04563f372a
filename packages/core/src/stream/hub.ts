import { setImmediate } from "node:timers/promises";
import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { errorText } from "../log.ts";
import { type Cursor, isBeyond } from "./cursor.ts";
import { catchUp, type Follower, type Granted, hand, type Read } from "./follower.ts";
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

/** Grants of a kind in one go: few statements, and none that keeps the process busy for long. */
const RENEWED_TOGETHER = 100;

/** Writing to a thousand sockets takes a while: after so many, requests have their turn. */
const HANDED_AT_ONCE = 50;

/**
 * Polls for all streams of a process: one statement for the horizon, one per source in which something may be new, and
 * a renewal of all grants, many at a time. Between polls nothing is held, and without followers nothing runs.
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
      for (const some of inPortions(receivers, HANDED_AT_ONCE)) {
        for (const one of some) hand(one, batch);
        await setImmediate();
      }
      batch = batch.complete || receivers.length === 0 ? null : await read(source, { after: batch.reached, since: null });
    }
    for (const one of renewed) readAlone(one, async () => below);
  }

  /** Those who still have access; whoever has lost it is gone. One whose grant could not be renewed waits for the next round. */
  async function renewAll(group: Follower[], source: Source | null): Promise<Set<Follower>> {
    const renewed = new Set<Follower>();
    const holders = [...Map.groupBy(group, ({ grant }) => grant.key).values()];
    const renew = async (some: Follower[][]): Promise<void> => {
      const grants = some.map(([first]) => first!.grant);
      const granted = await turn(() => grants[0]!.renew(grants));
      for (const [index, same] of some.entries()) settle(same, granted[index]!);
    };
    const settle = (same: Follower[], granted: Granted): void => {
      for (const one of same)
        if (granted instanceof DomainError) {
          remove(one);
          one.client.end();
        } else {
          one.source = granted?.key === source?.key ? source : granted;
          renewed.add(one);
        }
    };
    const kinds = Map.groupBy(holders, ([first]) => first!.grant.kind);
    const portions = [...kinds.values()].flatMap((kind) => inPortions(kind, RENEWED_TOGETHER));
    await Promise.all(portions.map((some) => renew(some).catch(failed)));
    return renewed;
  }

  /** For a follower that is behind: the first time, or because its client was slow. */
  function readAlone(follower: Follower, horizon: () => Promise<bigint>): void {
    if (follower.live || reading.has(follower) || !followers.has(follower)) return;
    reading.add(follower);
    const read = async () => catchUp(follower, readBelow(await horizon()));
    const goOn = () => {
      reading.delete(follower);
      // Room that came up at the very end was not waited for.
      if (follower.client.ready()) readAlone(follower, horizon);
    };
    void read().then(goOn, (error: unknown) => {
      reading.delete(follower);
      failed(error);
    });
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

const inPortions = <T>(all: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));

const lowest = (group: Follower[]): Cursor =>
  group.map(({ after }) => after).reduce((least, after) => (isBeyond(least, after) ? after : least));
