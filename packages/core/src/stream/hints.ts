import { setTimeout as pause } from "node:timers/promises";
import type { Horizon } from "./horizon.ts";

/** Receives hints that rows of organizations have changed. */
export interface Hints {
  add(organizations: ReadonlySet<string>): void;
}

/** The minimum pause between two polls, in milliseconds. Hints that arrive meanwhile share the next poll. */
const MIN_PAUSE_MS = 40;
/** The maximum number of polls for one hint. It limits how long to wait for an open transaction that may hide rows. */
const MAX_POLLS = 6;

/**
 * Polls the organizations that hints name, one poll at a time, so that many hints stay cheap. The pause after a poll is at least as
 * long as the poll, so that a slow database gets fewer polls.
 */
export function createHints(
  poll: (organizations: ReadonlySet<string>) => Promise<Horizon>,
  onError: (error: unknown) => void,
): Hints {
  const waiting = new Map<string, Hint>();
  let isFollowing = false;

  async function follow(): Promise<void> {
    isFollowing = true;
    while (waiting.size > 0) {
      const polled = new Map(waiting);
      const start = performance.now();
      try {
        const horizon = await poll(new Set(polled.keys()));
        for (const [id, hint] of polled) if (waiting.get(id) === hint && isSeen(hint, horizon)) waiting.delete(id);
      } catch (error) {
        for (const id of polled.keys()) waiting.delete(id);
        onError(error);
      }
      await pause(Math.max(MIN_PAUSE_MS, performance.now() - start), undefined, { ref: false });
    }
    isFollowing = false;
  }

  return {
    add(organizations) {
      for (const id of organizations) waiting.set(id, { polls: 0, below: null });
      if (!isFollowing) void follow();
    },
  };
}

interface Hint {
  polls: number;
  /** The changes of the hint have transaction ids below this one; null before the first poll. */
  below: bigint | null;
}

/**
 * Checks whether a poll has seen all changes of a hint. They were committed before the hint, so they are below the `xmax` of the
 * first poll, and transactions that begin later cannot hide them.
 */
function isSeen(hint: Hint, { horizon, xmax }: Horizon): boolean {
  hint.polls++;
  hint.below ??= xmax;
  return horizon >= hint.below || hint.polls >= MAX_POLLS;
}
