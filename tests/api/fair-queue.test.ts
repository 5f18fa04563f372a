import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createFairQueue, type FairQueueLimits, QueueFullError } from "@board/core/values/fair-queue";
import { afterEach, expect, test, vi } from "vitest";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

afterEach(() => vi.restoreAllMocks());

const LIMITS: FairQueueLimits = { running: [2, 2, 1], waiting: 0, waiting_of_group: 0, group_units_per_second: 0 };

/** Queues work that runs until `endNext` is called, and records the order in which it starts. */
function createDesk(limits: Partial<FairQueueLimits> = {}) {
  const queue = createFairQueue({ ...LIMITS, ...limits });
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    started,
    enter: (name: string, ...keys: string[]) =>
      queue.enter(keys).then((turn) => {
        started.push(name);
        ends.push(() => turn.end());
        return turn;
      }),
    async endNext() {
      ends.shift()?.();
      await settle();
    },
    settle,
  };
}

test("a group with much work delays the first work of another group by at most one piece of work", async () => {
  const desk = createDesk({ running: [1] });
  for (let n = 0; n < 50; n++) void desk.enter(`busy ${n}`, "known", "busy", "agent");
  void desk.enter("quiet", "known", "quiet", "person");
  await desk.settle();
  await desk.endNext();
  await desk.endNext();
  expect(desk.started).toEqual(["busy 0", "busy 1", "quiet"]);
});

test("the queue alternates between the members of a group", async () => {
  const desk = createDesk({ running: [1] });
  for (let n = 0; n < 3; n++) void desk.enter(`one ${n}`, "known", "group", "one");
  for (let n = 0; n < 3; n++) void desk.enter(`two ${n}`, "known", "group", "two");
  await desk.settle();
  for (let n = 0; n < 5; n++) await desk.endNext();
  expect(desk.started).toEqual(["one 0", "one 1", "two 0", "one 2", "two 1", "two 2"]);
});

test("a group runs no more work at a time than its limit, even when slots are free", async () => {
  const desk = createDesk();
  for (let n = 0; n < 3; n++) void desk.enter(`busy ${n}`, "known", "busy", "agent");
  void desk.enter("quiet", "known", "quiet", "person");
  await desk.settle();
  expect(desk.started).toEqual(["busy 0", "quiet"]);
});

test("ending a piece of work twice frees only one slot", async () => {
  const desk = createDesk({ running: [1] });
  const turn = await desk.enter("first", "known", "a", "x");
  for (const name of ["second", "third"]) void desk.enter(name, "known", "a", "x");
  turn.end();
  turn.end();
  await desk.settle();
  expect(desk.started).toEqual(["first", "second"]);
});

test("work beyond the limit of a group is refused, and work of another group is accepted", async () => {
  const desk = createDesk({ running: [1], waiting_of_group: 1 });
  void desk.enter("first", "known", "busy", "x");
  void desk.enter("second", "known", "busy", "x");
  await expect(desk.enter("third", "known", "busy", "x")).rejects.toMatchObject({ of: "group", limit: 1 });
  void desk.enter("quiet", "known", "quiet", "x");
  await desk.settle();
  for (let n = 0; n < 2; n++) await desk.endNext();
  expect(desk.started).toEqual(["first", "second", "quiet"]);
});

test("when the queue is full, only a group without waiting work may add some", async () => {
  const desk = createDesk({ running: [1], waiting: 2 });
  for (const name of ["first", "second", "third"]) void desk.enter(name, "known", "busy", "x");
  await expect(desk.enter("fourth", "known", "busy", "x")).rejects.toBeInstanceOf(QueueFullError);
  void desk.enter("quiet", "known", "quiet", "x");
  await expect(desk.enter("again", "known", "quiet", "x")).rejects.toMatchObject({ of: "all", limit: 2 });
});

test("a group that has used up its units per second waits while other groups run, and then continues without another request", async () => {
  const desk = createDesk({ running: [2, 2, 2], group_units_per_second: 1_000 });
  const turn = await desk.enter("large", "known", "busy", "x");
  turn.charge(2_200);
  turn.end();
  const later = desk.enter("later", "known", "busy", "x");
  await desk.enter("quiet", "known", "quiet", "x");
  expect(desk.started).toEqual(["large", "quiet"]);
  await later;
  expect(desk.started).toEqual(["large", "quiet", "later"]);
});

test("work starts even if the wait of its group ends while the work is being queued", async () => {
  let clock = 0;
  vi.spyOn(performance, "now").mockImplementation(() => clock++);
  for (let units = 2_000; units < 2_012; units++) {
    clock = 0;
    const desk = createDesk({ group_units_per_second: 1_000 });
    const turn = await desk.enter("large", "known", "busy", "x");
    turn.charge(units);
    turn.end();
    await desk.enter("later", "known", "busy", "x");
    expect(desk.started, `after ${units} units`).toEqual(["large", "later"]);
  }
});

test("refused work with invented keys takes no memory", async () => {
  const queue = createFairQueue({ ...LIMITS, running: [1], waiting_of_group: 1 });
  void queue.enter(["known", "busy", "x"]);
  void queue.enter(["known", "busy", "x"]);
  const refuse = async (count: number) => {
    for (let n = 0; n < count; n++) await queue.enter(["known", "busy", crypto.randomUUID()]).catch(() => {});
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = await refuse(1_000);
  // If they stayed in memory, this many keys would take about 24 MB.
  expect((await refuse(30_000)) - before).toBeLessThan(3_000_000);
});
