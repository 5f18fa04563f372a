import { scheduled } from "@board/api/work/schedules";
import { expect, test } from "vitest";
import { openReader } from "../change/reader.ts";
import { renew, setupWorld } from "../support/fixtures.ts";
import { startRun } from "../support/run.ts";

/** Only `elapse` moves the clock, so that a slow machine does not reach the next entry. */
const started = new Date();
const world = await setupWorld({ clock: () => started });
const home = renew((n) => world.tenant(`tenant-${n}`));
const run = renew(() => startRun(world, home));
/** Reads the changes of runs and tasks since the last call, as sorted lines such as `run updated`. */
const feed = renew(async () => {
  const reader = await openReader(world, owner(), "types=run,task");
  return { lines: async () => (await reader.lines()).toSorted() };
});

const owner = () => ({ token: home.owner.token });
const post = (from: number, ...steps: object[]) =>
  world.call("POST", `/api/v1/agent/runs/${run.run_id}/steps`, { agent: home.worker.token, body: { from, steps } });
const report = (entry: object, agent = home.worker.token) =>
  world.call("POST", "/api/v1/agent/usage", { agent, body: { entries: [{ input_tokens: 10, ...entry }] } });
const stop = () => world.call("POST", `/api/v1/boards/${home.board_id}/runs/${run.run_id}/stop`, { ...owner(), body: {} });
const sweep = () => scheduled.lifecycle(world.context());
const say = { kind: "message", text: "Hello" };
const use = (key: string) => ({ kind: "usage", key, input_tokens: 10 });
const BOTH = ["run updated", "task updated"];

test("steps write no activity event, and at most one entry in the changes feed every two seconds", async () => {
  const activity = async () => (await world.call("GET", "/api/v1/activity", owner())).body.total;
  const before = await activity();
  for (const from of [0, 1, 2, 3, 4]) await post(from, say);
  expect(await feed.lines()).toEqual(["run updated"]);
  world.elapse(2_000);
  await post(5, say);
  expect(await feed.lines()).toEqual(["run updated"]);
  expect(await activity()).toBe(before);
});

test("steps with usage write at most one entry in the changes feed for the run and one for its task in two seconds", async () => {
  for (const from of [0, 2, 4, 6, 8]) await post(from, use(`turn-${from}`), say);
  expect(await feed.lines()).toEqual(BOTH);
  world.elapse(2_000);
  await post(10, use("turn-10"));
  expect(await feed.lines()).toEqual(BOTH);
});

test("reports of usage write at most one entry in the changes feed for the run and one for its task in two seconds", async () => {
  for (const key of ["one", "two", "three"]) await report({ key, run_id: run.run_id });
  expect(await feed.lines()).toEqual(BOTH);
  world.elapse(2_000);
  await report({ key: "four", task_id: run.task_id });
  expect(await feed.lines()).toEqual(BOTH);
});

test("an entry of the changes feed that steps write also covers the usage before them", async () => {
  await post(0, say);
  await post(1, use("turn"));
  expect(await feed.lines()).toEqual(["run updated"]);
  world.elapse(2_000);
  await post(2, say);
  expect(await feed.lines()).toEqual(BOTH);
});

test("usage that comes too soon after an entry of the changes feed gets one from the schedule if nothing follows", async () => {
  await post(0, use("turn-1"));
  await post(1, use("turn-2"));
  expect(await feed.lines()).toEqual(BOTH);
  await sweep();
  expect(await feed.lines()).toEqual([]);
  world.elapse(2_000);
  await sweep();
  expect(await feed.lines()).toEqual(BOTH);
  world.elapse(2_000);
  await sweep();
  expect(await feed.lines()).toEqual([]);
});

test("steps that come too soon after an entry of the changes feed get one from the schedule if nothing follows", async () => {
  await post(0, say);
  await post(1, say);
  expect(await feed.lines()).toEqual(["run updated"]);
  world.elapse(2_000);
  await sweep();
  expect(await feed.lines()).toEqual(["run updated"]);
});

test("the end of a run writes the entry of the changes feed that its last usage waits for", async () => {
  await post(0, use("turn-1"));
  await post(1, use("turn-2"));
  expect(await feed.lines()).toEqual(BOTH);
  expect((await stop()).status).toBe(200);
  expect(await feed.lines()).toEqual(BOTH);
  world.elapse(2_000);
  await sweep();
  expect(await feed.lines()).toEqual([]);
});

test("usage that is delivered after the end of its run reaches the changes feed", async () => {
  await post(0, use("turn-1"));
  await stop();
  await feed.lines();
  await post(1, use("late-1"));
  await post(2, use("late-2"));
  expect(await feed.lines()).toEqual([]);
  world.elapse(2_000);
  await sweep();
  expect(await feed.lines()).toEqual(BOTH);
});

test("usage of an agent without a run on the task writes an entry of the changes feed for the task", async () => {
  await report({ key: "plan", task_id: run.task_id }, home.lead.token);
  expect(await feed.lines()).toEqual(["task updated"]);
});
