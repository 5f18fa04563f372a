/** Tests the rules of each figure of a dashboard. Every test has a new board. */
import { agents, approvals, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addGroup } from "../support/group.ts";
import {
  addEvents,
  addHistory,
  addEmptyBoard,
  EARLIER,
  FIRST,
  LAST,
  LATEST,
  nonZero,
  NOW,
  openDashboardFixture,
  START,
  type HistoryStep,
} from "./dashboard-fixture.ts";
import { addApproval, STATUSES } from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, home, read } = await setup(openDashboardFixture());

const newBoard = (name?: string) => addEmptyBoard(world, home, name);

test("throughput counts each task that entered review once per bucket", async () => {
  const board_id = await newBoard();
  await addHistory(world, board_id, [
    ["2026-03-17T11:00:00Z", "inbox"],
    ["2026-03-17T12:00:00Z", "review"],
    ["2026-03-17T12:10:00Z", "in_progress"],
    ["2026-03-17T12:59:59.999Z", "review"],
    ["2026-03-17T13:00:00Z", "inbox"],
    ["2026-03-17T14:00:00Z", "review"],
  ]);
  await addHistory(world, board_id, [["2026-03-17T12:30:00Z", "review"]]);
  const { throughput } = await read({ board_id });
  expect(nonZero(throughput.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 2, "2026-03-17T14:00:00.000Z": 1 });
  expect(nonZero(throughput.comparison)).toEqual({});
  expect(nonZero((await read({ board_id, range: "3d" })).throughput.primary)).toEqual({ "2026-03-17T00:00:00.000Z": 2 });
});

test("a deleted task stays in the throughput, once for each time it was worked on", async () => {
  const board_id = await newBoard();
  const rework: HistoryStep[] = [
    ["2026-03-17T12:00:00Z", "in_progress"],
    ["2026-03-17T12:10:00Z", "review"],
    ["2026-03-17T12:20:00Z", "in_progress"],
    ["2026-03-17T12:30:00Z", "review"],
  ];
  await addHistory(world, board_id, [...rework, ["2026-03-17T12:40:00Z", "gone"]]);
  expect(nonZero((await read({ board_id })).throughput.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 1 });
  const without_work: HistoryStep[] = [
    ["2026-03-17T12:00:00Z", "review"],
    ["2026-03-17T12:40:00Z", "gone"],
  ];
  await addHistory(world, board_id, without_work);
  await addHistory(world, board_id, without_work);
  expect(nonZero((await read({ board_id })).throughput.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 3 });
  const other = await newBoard();
  await addHistory(world, other, [...rework, ["2026-03-17T12:40:00Z", "gone"]]);
  const group_id = await addGroup(world, home, "Both", [board_id, other]);
  expect(nonZero((await read({ group_id })).throughput.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 4 });
});

test("a range includes events at its start and excludes events at its end", async () => {
  const board_id = await newBoard();
  for (const at of [EARLIER, START, LATEST, NOW])
    await addHistory(world, board_id, [
      ["2026-03-15T00:00:00Z", "in_progress"],
      [at, "review"],
    ]);
  await addEvents(world, home, board_id, [
    [EARLIER, "task.failed"],
    [START, "task.failed"],
    [START, "task.updated"],
    [LATEST, "task.updated"],
    [NOW, "task.failed"],
  ]);
  const { throughput, error_rate, kpis, wip } = await read({ board_id });
  expect(nonZero(throughput.primary)).toEqual({ [FIRST]: 1, [LAST]: 1 });
  expect(nonZero(throughput.comparison)).toEqual({ [FIRST]: 1 });
  expect(nonZero(error_rate.primary)).toEqual({ [FIRST]: 50 });
  expect(nonZero(error_rate.comparison)).toEqual({ [FIRST]: 100 });
  expect(kpis.error_rate_pct).toBe(33.33);
  expect(wip.comparison.points.at(-1)).toMatchObject({ period: FIRST, in_progress: 3, review: 1 });
  expect(wip.primary.points[0]).toMatchObject({ period: FIRST, in_progress: 2, review: 2 });
  expect(wip.primary.points.at(-1)).toMatchObject({ period: LAST, in_progress: 0, review: 4 });
});

test("the cycle time is the mean of the hours from the start of work to done, by the time of done", async () => {
  const board_id = await newBoard();
  const worked = (start: string, done: string): HistoryStep[] => [
    [start, "in_progress"],
    [done, "done"],
  ];
  await addHistory(world, board_id, worked("2026-03-17T10:30:00Z", "2026-03-17T12:00:00Z"));
  await addHistory(world, board_id, worked("2026-03-10T12:20:00Z", "2026-03-17T12:59:00Z"));
  await addHistory(world, board_id, worked("2026-03-17T09:00:00Z", "2026-03-17T10:00:00Z"));
  await addHistory(world, board_id, [
    ["2026-03-17T11:00:00Z", "inbox"],
    ["2026-03-17T12:30:00Z", "done"],
  ]);
  const { cycle_time, kpis } = await read({ board_id });
  expect(nonZero(cycle_time.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 85.08 });
  expect(nonZero(cycle_time.comparison)).toEqual({ [FIRST]: 1 });
  expect(kpis.median_cycle_time_hours_7d).toBe(1.5);
});

test("a task that is done again counts again in the cycle time, from the new start of work if there is one, else from the earlier start", async () => {
  const board_id = await newBoard();
  await addHistory(world, board_id, [
    ["2026-03-17T11:00:00Z", "in_progress"],
    ["2026-03-17T13:00:00Z", "done"],
    ["2026-03-17T14:00:00Z", "in_progress"],
    ["2026-03-17T15:00:00Z", "done"],
    ["2026-03-17T16:00:00Z", "review"],
    ["2026-03-17T17:00:00Z", "done"],
    ["2026-03-17T18:00:00Z", "gone"],
  ]);
  const { cycle_time } = await read({ board_id });
  expect(nonZero(cycle_time.primary)).toEqual({
    "2026-03-17T13:00:00.000Z": 2,
    "2026-03-17T15:00:00.000Z": 1,
    "2026-03-17T17:00:00.000Z": 3,
  });
});

test("the median of the cycle time covers the last seven days, whatever the range is", async () => {
  const board_id = await newBoard();
  const add = (done: string, hours: number) =>
    addHistory(world, board_id, [
      [new Date(Date.parse(done) - hours * 3_600_000).toISOString(), "in_progress"],
      [done, "done"],
    ]);
  await add("2026-03-11T10:24:09.798Z", 100);
  await add(NOW, 100);
  const medians = async () => {
    const found = await Promise.all(["24h", "7d", "1y"].map(async (range) => (await read({ board_id, range })).kpis));
    return [...new Set(found.map((kpis) => kpis.median_cycle_time_hours_7d))];
  };
  expect(await medians()).toEqual([null]);
  await add("2026-03-11T10:24:09.799Z", 8);
  expect(await medians()).toEqual([8]);
  await add(LATEST, 1);
  expect(await medians()).toEqual([4.5]);
  await add("2026-03-14T00:00:00Z", 2.004);
  expect(await medians()).toEqual([2]);
});

test("an event of a board is an error event if the event's type ends with failed", async () => {
  const board_id = await newBoard();
  await addEvents(world, home, board_id, [
    ["2026-03-17T12:00:00Z", "task.failed"],
    ["2026-03-17T12:15:00Z", "webhook.notify_failed"],
    ["2026-03-17T12:30:00Z", "task.failed.not"],
    ["2026-03-17T13:00:00Z", "agent.error"],
    ["2026-03-16T12:00:00Z", "task.failed"],
    ["2026-03-16T12:00:00Z", "task.updated"],
  ]);
  await addEvents(world, home, null, [["2026-03-17T12:00:00Z", "gateway.disconnected"]]);
  const { kpis, error_rate } = await read({ board_id });
  expect(kpis.error_rate_pct).toBe(50);
  expect(nonZero(error_rate.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 66.67 });
  expect(nonZero(error_rate.comparison)).toEqual({ "2026-03-16T12:00:00.000Z": 50 });
});

test("work in progress is counted at the end of each bucket, including deleted tasks and tasks without history", async () => {
  const board_id = await newBoard();
  await addTask(world, { board_id }, { status: "review" });
  await addHistory(world, board_id, [
    ["2026-03-17T11:30:00Z", "inbox"],
    ["2026-03-17T12:00:00Z", "in_progress"],
    ["2026-03-17T12:10:00Z", "blocked"],
    ["2026-03-17T12:20:00Z", "in_progress"],
    ["2026-03-17T13:59:59.999Z", "blocked"],
    ["2026-03-17T15:00:00Z", "done"],
    ["2026-03-17T16:30:00Z", "gone"],
  ]);
  const { wip, kpis } = await read({ board_id });
  const at = (n: number) => STATUSES.filter((status) => status !== "blocked").map((status) => wip.primary.points[n][status]);
  expect([0, 1, 2, 3, 4, 5, 6, 24].map(at)).toEqual([
    [0, 0, 1, 0],
    [1, 0, 1, 0],
    [0, 1, 1, 0],
    [0, 0, 1, 0],
    [0, 0, 1, 0],
    [0, 0, 1, 1],
    [0, 0, 1, 0],
    [0, 0, 1, 0],
  ]);
  expect(kpis).toMatchObject({ inbox_tasks: 0, in_progress_tasks: 0, tasks_in_progress: 0, review_tasks: 1, done_tasks: 0 });
});

test("an agent counts as active when it was last seen within the range", async () => {
  const activeAt = async (last_seen_at: string | null, query: object = {}) => {
    await world.db
      .update(agents)
      .set({ last_seen_at: last_seen_at === null ? null : new Date(last_seen_at) })
      .where(eq(agents.id, home.worker.id));
    return (await read({ board_id: home.board_id, ...query })).kpis.active_agents;
  };
  await world.db.update(agents).set({ last_seen_at: null });
  const seen = [null, EARLIER, START, LATEST, NOW];
  const active: number[] = [];
  for (const moment of seen) active.push(await activeAt(moment));
  expect(active).toEqual([0, 0, 1, 1, 0]);
  expect(await activeAt(EARLIER, { range: "3d" })).toBe(1);
  await world.db.update(agents).set({ last_seen_at: new Date(START) });
  const of = async (query: object) => (await read(query)).kpis.active_agents;
  // The main agent of a gateway has no board, and agents of the other organization do not count.
  expect([await of({ board_id: home.board_id }), await of({})]).toEqual([3, 3]);
});

test("pending approvals show the newest ten with the titles of their tasks, and the total", async () => {
  const board_id = await newBoard("Deciding");
  const task = await addTask(world, { board_id }, { title: "First" });
  const second = await addTask(world, { board_id }, { title: "Second" });
  await addApproval(world, board_id, [task.id, second.id], { created_at: new Date(NOW), confidence: 62.5 });
  await addApproval(world, board_id, [task.id], { created_at: new Date(NOW), status: "approved" });
  const earlier = (n: number) => new Date(Date.parse(START) - n * 86_400_000);
  await world.db
    .insert(approvals)
    .values(Array.from({ length: 11 }, (_one, n) => ({ board_id, action_type: `Deploy ${n}`, created_at: earlier(n) })));
  const { total, items } = (await read({ board_id })).pending_approvals;
  expect([total, items.length]).toEqual([12, 10]);
  const { approval_id, ...newest } = items[0];
  expect(newest).toEqual({
    board_id,
    board_name: "Deciding",
    action_type: "Deploy",
    confidence: 62.5,
    created_at: NOW,
    task_title: "First",
  });
  expect(approval_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(items[1]).toMatchObject({ action_type: "Deploy 0", confidence: 0, created_at: START, task_title: null });
  expect(items.map(({ created_at }: { created_at: string }) => created_at)).toEqual([
    NOW,
    ...Array.from({ length: 9 }, (_one, n) => earlier(n).toISOString()),
  ]);
  await world.db.update(tasks).set({ title: "Renamed" }).where(eq(tasks.id, task.id));
  expect((await read({ board_id })).pending_approvals.items[0].task_title).toBe("Renamed");
});
