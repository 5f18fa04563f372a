import { expect, test } from "vitest";
import { createFairPool } from "../../packages/local/src/fair-pool.ts";

/** Creates work that ends when the test ends it, and records the order in which it starts. */
function createWork() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () => {
    started.push(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(name, resolve);
    return promise;
  };
  const end = async (name: string) => {
    ends.get(name)!();
    await new Promise(setImmediate);
  };
  return { started, work, end };
}

test("the pool alternates between groups, so that one group's backlog does not delay another group's work", async () => {
  const pool = createFairPool({ slots: 1, slots_per_group: 1 });
  const { started, work, end } = createWork();
  for (const name of ["a1", "a2", "a3"]) pool.add({ group: "a", member: "" }, work(name));
  for (const name of ["b1", "b2"]) pool.add({ group: "b", member: "" }, work(name));
  for (const name of ["a1", "b1", "a2", "b2", "a3"]) {
    expect(started.at(-1)).toBe(name);
    await end(name);
  }
  expect(started).toHaveLength(5);
});

test("the pool alternates between the members of a group", async () => {
  const pool = createFairPool({ slots: 1, slots_per_group: 1 });
  const { started, work, end } = createWork();
  for (const name of ["a1", "a2", "a3", "a4"]) pool.add({ group: "a", member: "first" }, work(name));
  pool.add({ group: "a", member: "second" }, work("a5"));
  for (const name of ["b1", "b2"]) pool.add({ group: "b", member: "" }, work(name));
  for (const name of ["a1", "b1", "a2", "b2", "a5", "a3", "a4"]) {
    expect(started.at(-1)).toBe(name);
    await end(name);
  }
});

test("a group occupies no more than its share of the slots, while others use the rest", async () => {
  const pool = createFairPool({ slots: 3, slots_per_group: 2 });
  const { started, work, end } = createWork();
  for (const name of ["a1", "a2", "a3"]) pool.add({ group: "a", member: "" }, work(name));
  expect(started).toEqual(["a1", "a2"]);
  for (const name of ["b1", "b2"]) pool.add({ group: "b", member: "" }, work(name));
  expect(started).toEqual(["a1", "a2", "b1"]);
  await end("a1");
  expect(started).toEqual(["a1", "a2", "b1", "b2"]);
});

test("when a pool stops, it waits for the running work and does not start the rest", async () => {
  const pool = createFairPool({ slots: 1, slots_per_group: 1 });
  const { started, work, end } = createWork();
  for (const name of ["a1", "a2"]) pool.add({ group: "a", member: "" }, work(name));
  let stopped = false;
  const stopping = pool.stop().then(() => (stopped = true));
  await new Promise(setImmediate);
  expect(stopped).toBe(false);
  await end("a1");
  await stopping;
  expect(started).toEqual(["a1"]);
});
