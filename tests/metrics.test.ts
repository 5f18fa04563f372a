import { agents, approvals, organization_board_access, tasks } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addGroup } from "./support/group.ts";
import { addEvents, addHistory, addQuietBoard, nonZero, readDashboard, stoppableClock, type Stop } from "./support/metrics.ts";
import { addApproval, changeTask, createTeam, STATUSES, type Team } from "./support/task-rules.ts";
import { addTask } from "./support/task.ts";
import { createWorld, type Person, type Tenant, type World } from "./support/world.ts";

/** A Wednesday. */
const NOW = "2026-03-18T10:24:09.799Z";
/** Where the range of a day starts. */
const START = "2026-03-17T10:24:09.799Z";
/** A millisecond before it, which is in the comparison. */
const EARLIER = "2026-03-17T10:24:09.798Z";
const LATEST = "2026-03-18T10:24:09.798Z";
/** The hours that hold the start and the end. */
const [FIRST, LAST] = ["2026-03-17T10:00:00.000Z", "2026-03-18T10:00:00.000Z"];

const clock = stoppableClock();
let world: World;
let home: Team;
let abroad: Tenant;
/** Reads one board of the home organization, and no other. */
let guest: Person;
let guest_board_id: string;

beforeAll(async () => {
  world = await createWorld({ clock: clock.now });
  home = await createTeam(world, "home");
  abroad = await world.tenant("abroad");
  guest = await world.person("guest");
  const organization_member_id = await world.join(guest, home.organization_id, "member");
  guest_board_id = await addQuietBoard(world, home);
  await world.db
    .insert(organization_board_access)
    .values({ organization_member_id, board_id: guest_board_id, can_read: true, can_write: false });
});
afterAll(() => world.close());

const ask = (query: object, { now = NOW, who = home.owner }: { now?: string; who?: Person } = {}) => {
  clock.stopAt(new Date(now));
  return readDashboard(world, who, query);
};
const read = async (query: object, options?: { now?: string; who?: Person }) => {
  const answer = await ask(query, options);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};
const newBoard = (name?: string) => addQuietBoard(world, home, name);
const hour = (n: number) => new Date(Date.parse(FIRST) + n * 3_600_000).toISOString();

test("without any board every figure is zero, and every series has all of its points", async () => {
  const outsider = await world.person("outsider");
  await world.join(outsider, home.organization_id, "member");
  const body = await read({}, { who: outsider });
  const points = Array.from({ length: 25 }, (_point, n) => ({ period: hour(n), value: 0 }));
  const before = Array.from({ length: 25 }, (_point, n) => ({ period: hour(n - 24), value: 0 }));
  const zeros = {
    primary: { range: "24h", bucket: "hour", points },
    comparison: { range: "24h", bucket: "hour", points: before },
  };
  const work = ({ period }: { period: string }) => ({ period, inbox: 0, in_progress: 0, review: 0, done: 0 });
  expect(body).toEqual({
    range: "24h",
    generated_at: NOW,
    kpis: {
      active_agents: 0,
      tasks_in_progress: 0,
      error_rate_pct: 0,
      median_cycle_time_hours_7d: null,
      inbox_tasks: 0,
      in_progress_tasks: 0,
      review_tasks: 0,
      done_tasks: 0,
    },
    throughput: zeros,
    cycle_time: zeros,
    error_rate: zeros,
    wip: {
      primary: { range: "24h", bucket: "hour", points: points.map(work) },
      comparison: { range: "24h", bucket: "hour", points: before.map(work) },
    },
    pending_approvals: { total: 0, items: [] },
  });
});

test.each([
  ["24h", "hour", 25, "2026-03-17T10:00:00.000Z", "2026-03-18T10:00:00.000Z", "2026-03-16T10:00:00.000Z"],
  ["3d", "day", 4, "2026-03-15T00:00:00.000Z", "2026-03-18T00:00:00.000Z", "2026-03-12T00:00:00.000Z"],
  ["7d", "day", 8, "2026-03-11T00:00:00.000Z", "2026-03-18T00:00:00.000Z", "2026-03-04T00:00:00.000Z"],
  ["14d", "day", 15, "2026-03-04T00:00:00.000Z", "2026-03-18T00:00:00.000Z", "2026-02-18T00:00:00.000Z"],
  ["1m", "day", 31, "2026-02-16T00:00:00.000Z", "2026-03-18T00:00:00.000Z", "2026-01-17T00:00:00.000Z"],
  ["3m", "week", 14, "2025-12-15T00:00:00.000Z", "2026-03-16T00:00:00.000Z", "2025-09-15T00:00:00.000Z"],
  ["6m", "week", 27, "2025-09-15T00:00:00.000Z", "2026-03-16T00:00:00.000Z", "2025-03-17T00:00:00.000Z"],
  ["1y", "month", 13, "2025-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z", "2024-03-01T00:00:00.000Z"],
] as const)("the range %s has a point for every %s: %i from %s to %s", async (range, bucket, length, first, last, earliest) => {
  const body = await read({ range });
  expect(body).toMatchObject({ range, generated_at: NOW });
  for (const { primary, comparison } of [body.throughput, body.cycle_time, body.error_rate, body.wip]) {
    for (const series of [primary, comparison]) {
      expect(series).toMatchObject({ range, bucket });
      const periods = series.points.map(({ period }: { period: string }) => period);
      expect(periods).toEqual([...new Set<string>(periods)].toSorted((a, b) => Date.parse(a) - Date.parse(b)));
    }
    expect([primary.points.length, primary.points[0].period, primary.points.at(-1).period]).toEqual([length, first, last]);
    expect([comparison.points[0].period, comparison.points.at(-1).period]).toEqual([earliest, first]);
  }
});

test.each([
  ["24h", 25, LAST],
  ["1m", 31, "2026-03-16T00:00:00.000Z"],
  ["3m", 14, "2026-03-16T00:00:00.000Z"],
  ["1y", 13, "2026-03-01T00:00:00.000Z"],
] as const)("a range that ends where a bucket starts has that bucket last, empty: %s", async (range, length, now) => {
  const { points } = (await read({ range }, { now })).throughput.primary;
  expect([points.length, points.at(-1)]).toEqual([length, { period: now, value: 0 }]);
});

test("365 days that hold a leap day can begin on the first of a month and end in the month before it: twelve points", async () => {
  const { points } = (await read({ range: "1y" }, { now: "2024-12-31T12:00:00.000Z" })).wip.primary;
  expect([points.length, points[0].period]).toEqual([12, "2024-01-01T00:00:00.000Z"]);
});

test("range_key is another name of range, which wins, and a day is what is shown without either", async () => {
  expect((await read({})).range).toBe("24h");
  expect((await read({ range_key: "1m" })).range).toBe("1m");
  expect((await read({ range: "3d", range_key: "1m" })).range).toBe("3d");
});

test.each(["range", "range_key"])("a value of %s that is none is refused with those that are", async (name) => {
  for (const input of ["2d", "", "24H", "toString"]) {
    const answer = await ask({ [name]: input });
    const msg = "Input should be '24h', '3d', '7d', '14d', '1m', '3m', '6m' or '1y'";
    expect([answer.status, answer.body]).toEqual([
      422,
      { detail: [{ type: "literal_error", loc: ["query", name], msg, input }] },
    ]);
  }
});

test.each(["board_id", "group_id"])("a %s that is no id is refused, one of nothing does not exist", async (name) => {
  for (const input of ["no-id", ""])
    expect((await ask({ [name]: input })).body.detail).toMatchObject([{ type: "uuid_parsing", loc: ["query", name], input }]);
  const missed = await ask({ [name]: crypto.randomUUID() });
  expect([missed.status, missed.body]).toEqual([404, { detail: "Not Found" }]);
});

test("a board that the caller may not read and a group of another organization do not exist", async () => {
  const board_id = await newBoard();
  const group_id = await addGroup(world, abroad, "Theirs", []);
  for (const [query, who] of [
    [{ board_id }, guest],
    [{ board_id }, abroad.owner],
    [{ board_id: abroad.board_id }, home.owner],
    [{ group_id }, home.owner],
    [{ board_id, group_id }, home.owner],
  ] as const) {
    const missed = await ask(query, { who });
    expect([missed.status, missed.body]).toEqual([404, { detail: "Not Found" }]);
  }
});

test("figures are those of the boards the caller may read, narrowed by board and by group", async () => {
  const [first, second] = [await newBoard(), await newBoard()];
  const inbox: Stop[] = [[START, "inbox"]];
  const elsewhere = await addQuietBoard(world, abroad);
  for (const board_id of [first, second, second, guest_board_id, elsewhere]) await addHistory(world, board_id, inbox);
  const group_id = await addGroup(world, home, "Pair", [first, second]);
  const empty = await addGroup(world, home, "Empty", []);
  const tasksOf = async (query: object, who?: Person) => (await read(query, who ? { who } : {})).kpis.inbox_tasks;
  expect(await tasksOf({ board_id: first.toUpperCase() })).toBe(1);
  expect(await tasksOf({ group_id })).toBe(3);
  expect(await tasksOf({ group_id, board_id: second })).toBe(2);
  expect(await tasksOf({ group_id, board_id: guest_board_id })).toBe(0);
  expect(await tasksOf({ group_id: empty })).toBe(0);
  expect(await tasksOf({}, guest)).toBe(1);
  expect(await tasksOf({ board_id: guest_board_id }, guest)).toBe(1);
  expect(await tasksOf({ group_id }, guest)).toBe(0);
});

test("work that is done through the API shows in the figures at once, and is not undone by a removal", async () => {
  const owner = { token: home.owner.token };
  const make = async (title: string) =>
    (await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { ...owner, body: { title } })).body;
  const [task, other] = [await make("One"), await make("Two")];
  for (const status of ["in_progress", "review", "in_progress", "review", "done"])
    await changeTask(world, owner, { board_id: home.board_id, id: task.id }, { status });
  const look = () => read({ range: "1y", board_id: home.board_id }, { now: new Date().toISOString() });
  const { kpis, throughput, wip } = await look();
  expect(kpis).toMatchObject({ inbox_tasks: 1, done_tasks: 1, median_cycle_time_hours_7d: 0 });
  expect(Object.values(nonZero(throughput.primary)).reduce((sum, value) => sum + value, 0)).toBe(1);
  expect(wip.primary.points[0]).toMatchObject({ inbox: 0, done: 0 });
  expect(wip.primary.points.at(-1)).toMatchObject({ inbox: 1, done: 1 });
  for (const { id } of [task, other]) await world.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${id}`, owner);
  const after = await look();
  expect(after.kpis).toMatchObject({ inbox_tasks: 0, done_tasks: 0 });
  expect(after.throughput).toEqual(throughput);
  expect(after.wip.primary.points.at(-1)).toMatchObject({ inbox: 0, done: 0 });
});

test("throughput counts different tasks that came to review, once in each bucket", async () => {
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

test("a removed task stays in the throughput, once for each time that it was worked on", async () => {
  const board_id = await newBoard();
  const rework: Stop[] = [
    ["2026-03-17T12:00:00Z", "in_progress"],
    ["2026-03-17T12:10:00Z", "review"],
    ["2026-03-17T12:20:00Z", "in_progress"],
    ["2026-03-17T12:30:00Z", "review"],
  ];
  await addHistory(world, board_id, [...rework, ["2026-03-17T12:40:00Z", "gone"]]);
  expect(nonZero((await read({ board_id })).throughput.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 1 });
  const unworked: Stop[] = [
    ["2026-03-17T12:00:00Z", "review"],
    ["2026-03-17T12:40:00Z", "gone"],
  ];
  await addHistory(world, board_id, unworked);
  await addHistory(world, board_id, unworked);
  expect(nonZero((await read({ board_id })).throughput.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 3 });
  const other = await newBoard();
  await addHistory(world, other, [...rework, ["2026-03-17T12:40:00Z", "gone"]]);
  const group_id = await addGroup(world, home, "Both", [board_id, other]);
  expect(nonZero((await read({ group_id })).throughput.primary)).toEqual({ "2026-03-17T12:00:00.000Z": 4 });
});

test("a range takes in what happened at its start, and not what happens at its end", async () => {
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
  const worked = (start: string, done: string): Stop[] => [
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

test("a task that is done again counts again: from the start of new work, or of the same when none began", async () => {
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

test("the median is that of the last seven days, whatever the range", async () => {
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

test("error events are those whose type ends with failed, of the boards only", async () => {
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

test("work in progress is what each bucket ended with, also of tasks that are gone or have no history", async () => {
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

test("an agent is active when it was heard from in the range", async () => {
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
  // The main agent of a gateway has no board, and the other organization's agents are not of this one.
  expect([await of({ board_id: home.board_id }), await of({})]).toEqual([3, 3]);
});

test("pending approvals are the newest ten with the title of their task, and how many there are", async () => {
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

test("the dashboard takes seven statements, sign-in included, whatever is asked for", async () => {
  const board_id = await newBoard();
  const group_id = await addGroup(world, home, "Counted", [board_id]);
  for (const query of [{}, { range: "1y" }, { board_id, group_id }]) {
    world.statements.length = 0;
    await read(query);
    expect(world.statements).toHaveLength(7);
  }
});
