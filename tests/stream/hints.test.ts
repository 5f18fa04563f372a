import { isAfter, toCursor } from "@board/core/stream/cursor";
import { type Follower, type Grant, type GrantResult, startPosition } from "@board/core/stream/follower";
import { createHints } from "@board/core/stream/hints";
import type { Horizon } from "@board/core/stream/horizon";
import { createHub } from "@board/core/stream/hub";
import type { Source, StreamRow } from "@board/core/stream/source";
import { DomainError } from "@board/core/values/errors";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const WAIT = { timeout: 10_000, interval: 2 };
/** So long that the timer of the hub does not poll during a test. */
const NEVER_MS = 2 ** 30;

/** Creates hints and records their polls. `answer` returns what the nth poll sees. */
function recordPolls(answer: (n: number) => Horizon | Promise<Horizon>) {
  const polls: string[][] = [];
  const errors: unknown[] = [];
  const poll = async (organizations: ReadonlySet<string>) => {
    polls.push([...organizations]);
    return answer(polls.length);
  };
  const hints = createHints(poll, (error) => void errors.push(error));
  return { polls, errors, add: (...ids: string[]) => hints.add(new Set(ids)) };
}

const allSeen: Horizon = { horizon: 9n, xmax: 9n };

test("a hint causes polls until the transactions that were open at its time have ended, and does not wait for later transactions", async () => {
  const horizons: Horizon[] = [
    { horizon: 5n, xmax: 8n },
    { horizon: 7n, xmax: 20n },
    { horizon: 8n, xmax: 30n },
  ];
  const { polls, add } = recordPolls((n) => horizons[n - 1] ?? allSeen);
  add("a");
  await vi.waitUntil(() => polls.length === horizons.length, WAIT);
  add("b");
  await vi.waitUntil(() => polls.length > horizons.length, WAIT);
  expect(polls).toEqual([["a"], ["a"], ["a"], ["b"]]);
});

test("a transaction that stays open does not keep hints polling for ever", async () => {
  const { polls, add } = recordPolls(() => ({ horizon: 5n, xmax: 8n }));
  add("a");
  await vi.waitUntil(() => polls.length === 6, WAIT);
  add("b");
  await vi.waitUntil(() => polls.length > 6, WAIT);
  expect(polls[6]).toEqual(["b"]);
});

test("hints that arrive during a poll share the next poll", async () => {
  const first = Promise.withResolvers<Horizon>();
  const { polls, add } = recordPolls((n) => (n === 1 ? first.promise : allSeen));
  for (const id of ["a", "b", "a", "c"]) add(id);
  first.resolve(allSeen);
  await vi.waitUntil(() => polls.length === 2, WAIT);
  expect(polls).toEqual([["a"], ["a", "b", "c"]]);
});

test("a failed poll is reported, and later hints are polled", async () => {
  const { polls, errors, add } = recordPolls((n) => (n === 1 ? Promise.reject(new Error("no database")) : allSeen));
  add("a");
  await vi.waitUntil(() => errors.length === 1, WAIT);
  add("b");
  await vi.waitUntil(() => polls.length === 2, WAIT);
  expect(polls).toEqual([["a"], ["b"]]);
});

/** Opens a hub with one follower, which polls only after hints. `seen` counts what the hub did. */
async function openHintedHub() {
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => now.mockRestore());
  const seen = { reads: 0, renewals: 0, events: [] as string[], isEnded: false };
  const rows: StreamRow[] = [];
  let access: GrantResult;
  let held = Promise.resolve();
  const source: Source = {
    key: "rows",
    organization_id: "hinted",
    event: "row",
    async read(_ctx, { after }) {
      seen.reads++;
      return rows.filter(({ cursor }) => isAfter(cursor, after));
    },
  };
  access = source;
  const grant: Grant = {
    key: "caller",
    kind: "rows",
    async renew(grants) {
      seen.renewals++;
      await held;
      return grants.map(() => access);
    },
  };
  const { position, horizon } = await startPosition(world.context(), { last_event_id: null, since: null });
  const client = {
    isReady: () => true,
    send: ({ data }: { data: string }) => void seen.events.push(data),
    end: () => void (seen.isEnded = true),
  };
  const follower: Follower = { ...position, source, client, grant };
  const timer = vi.spyOn(globalThis, "setInterval");
  const hub = createHub(() => world.context(), NEVER_MS);
  hub.add(follower, horizon);
  const pollAll = timer.mock.calls[0]![0];
  timer.mockRestore();
  onTestFinished(() => hub.remove(follower));
  return {
    seen,
    passTime: (ms: number) => void now.mockReturnValue(ms),
    /** Polls as the timer does. The poll lasts until the returned function is called. */
    async startPoll(this: void) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      const before = seen.renewals;
      pollAll();
      await vi.waitUntil(() => seen.renewals > before, WAIT);
      return resolve;
    },
    /** Commits a transaction, so that there is something to read, and waits for the poll of its hint. */
    async hint(this: void, data?: string) {
      const before = seen.reads;
      await change(data);
      await vi.waitUntil(() => seen.reads > before, WAIT);
    },
    change,
    revoke: () => void (access = new DomainError("unauthenticated", "The key was revoked")),
  };

  async function change(data?: string): Promise<void> {
    const { horizon: tx } = await startPosition(world.context(), { last_event_id: null, since: null });
    if (data !== undefined) rows.push({ id: data, cursor: toCursor(String(tx), 1n), data });
    await world.db.execute("select pg_current_xact_id()");
    hub.pollSoon(new Set(["hinted"]));
  }
}

test("polls by hints that find nothing check access again only after half a second", async () => {
  const { hint, seen, passTime } = await openHintedHub();
  for (let n = 0; n < 4; n++) await hint();
  expect(seen.renewals).toBe(1);
  passTime(600);
  await hint();
  await vi.waitUntil(() => seen.renewals === 2, WAIT);
});

test("a row whose change is reported during a poll is sent after this poll, and not only at the next one", async () => {
  const { startPoll, change, seen } = await openHintedHub();
  const endPoll = await startPoll();
  await change("one");
  // Long enough for a poll that would not wait for the other one.
  await pause(200);
  endPoll();
  await vi.waitFor(() => expect(seen.events).toEqual(['"one"']), WAIT);
});

test("a row is never sent before access was checked again, even shortly after the last check", async () => {
  const { hint, seen, revoke } = await openHintedHub();
  await hint("one");
  await vi.waitUntil(() => seen.events.length === 1, WAIT);
  revoke();
  await hint("two");
  await vi.waitUntil(() => seen.isEnded, WAIT);
  expect(seen.events).toEqual(['"one"']);
});
