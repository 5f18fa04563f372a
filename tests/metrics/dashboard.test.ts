/** Tests the parameters, the access and the form of dashboards; figures.test.ts tests the figures. */
import { organization_board_access } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { addGroup } from "../support/group.ts";
import {
  addHistory,
  addEmptyBoard,
  FIRST,
  LAST,
  nonZero,
  NOW,
  openDashboardFixture,
  START,
  type HistoryStep,
} from "./dashboard-fixture.ts";
import { changeTask } from "../support/task-rules.ts";
import type { Person } from "../support/world.ts";

const { world, home, abroad, ask, read } = await setup(openDashboardFixture());
/** A member who may read one board of the home organization. */
const guest = await world.person("guest");
const organization_member_id = await world.join(guest, home.organization_id, "member");
const guest_board_id = await addEmptyBoard(world, home);
await world.db
  .insert(organization_board_access)
  .values({ organization_member_id, board_id: guest_board_id, can_read: true, can_write: false });

const newBoard = () => addEmptyBoard(world, home);
const hour = (n: number) => new Date(Date.parse(FIRST) + n * 3_600_000).toISOString();

test("without any board every figure is zero, and every series has all of its points", async () => {
  const outsider = await world.member("outsider", home);
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
] as const)(
  "the range %s has one point per %s: %i points from %s to %s",
  async (range, bucket, length, first, last, earliest) => {
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
  },
);

test.each([
  ["24h", 25, LAST],
  ["1m", 31, "2026-03-16T00:00:00.000Z"],
  ["3m", 14, "2026-03-16T00:00:00.000Z"],
  ["1y", 13, "2026-03-01T00:00:00.000Z"],
] as const)(
  "a range that ends at the start of a bucket ends with this bucket, which is empty: %s",
  async (range, length, now) => {
    const { points } = (await read({ range }, { now })).throughput.primary;
    expect([points.length, points.at(-1)]).toEqual([length, { period: now, value: 0 }]);
  },
);

test("a range of 365 days across a leap day that starts on the first of a month has twelve points", async () => {
  const { points } = (await read({ range: "1y" }, { now: "2024-12-31T12:00:00.000Z" })).wip.primary;
  expect([points.length, points[0].period]).toEqual([12, "2024-01-01T00:00:00.000Z"]);
});

test("range_key is another name of range, range takes precedence over it, and without both the range is a day", async () => {
  expect((await read({})).range).toBe("24h");
  expect((await read({ range_key: "1m" })).range).toBe("1m");
  expect((await read({ range: "3d", range_key: "1m" })).range).toBe("3d");
});

test.each(["range", "range_key"])("an invalid %s is refused, and the error lists the valid values", async (name) => {
  for (const input of ["2d", "", "24H", "toString"]) {
    const answer = await ask({ [name]: input });
    const msg = "Input should be '24h', '3d', '7d', '14d', '1m', '3m', '6m' or '1y'";
    expect([answer.status, answer.body]).toEqual([
      422,
      { detail: [{ type: "literal_error", loc: ["query", name], msg, input }] },
    ]);
  }
});

test.each(["board_id", "group_id"])("a malformed %s is refused, and an unknown one is not found", async (name) => {
  for (const input of ["no-id", ""])
    expect((await ask({ [name]: input })).body.detail).toMatchObject([{ type: "uuid_parsing", loc: ["query", name], input }]);
  const not_found = await ask({ [name]: crypto.randomUUID() });
  expect([not_found.status, not_found.body]).toEqual([404, { detail: "Not Found" }]);
});

test("a board that the person may not read and a group of another organization give 404", async () => {
  const board_id = await newBoard();
  const group_id = await addGroup(world, abroad, "Theirs", []);
  for (const [query, who] of [
    [{ board_id }, guest],
    [{ board_id }, abroad.owner],
    [{ board_id: abroad.board_id }, home.owner],
    [{ group_id }, home.owner],
    [{ board_id, group_id }, home.owner],
  ] as const) {
    const not_found = await ask(query, { who });
    expect([not_found.status, not_found.body]).toEqual([404, { detail: "Not Found" }]);
  }
});

test("the figures cover the boards that the person may read, or one board or group of them", async () => {
  const [first, second] = [await newBoard(), await newBoard()];
  const inbox: HistoryStep[] = [[START, "inbox"]];
  const elsewhere = await addEmptyBoard(world, abroad);
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

test("work done through the API appears in the figures at once, and stays when its task is deleted", async () => {
  const owner = { token: home.owner.token };
  const make = async (title: string) =>
    (await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { ...owner, body: { title } })).body;
  const [task, other] = [await make("One"), await make("Two")];
  for (const status of ["in_progress", "review", "in_progress", "review", "done"])
    await changeTask(world, owner, { board_id: home.board_id, id: task.id }, { status });
  const readNow = () => read({ range: "1y", board_id: home.board_id }, { now: new Date().toISOString() });
  const { kpis, throughput, wip } = await readNow();
  expect(kpis).toMatchObject({ inbox_tasks: 1, done_tasks: 1, median_cycle_time_hours_7d: 0 });
  expect(Object.values(nonZero(throughput.primary)).reduce((sum, value) => sum + value, 0)).toBe(1);
  expect(wip.primary.points[0]).toMatchObject({ inbox: 0, done: 0 });
  expect(wip.primary.points.at(-1)).toMatchObject({ inbox: 1, done: 1 });
  for (const { id } of [task, other]) await world.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${id}`, owner);
  const after = await readNow();
  expect(after.kpis).toMatchObject({ inbox_tasks: 0, done_tasks: 0 });
  expect(after.throughput).toEqual(throughput);
  expect(after.wip.primary.points.at(-1)).toMatchObject({ inbox: 0, done: 0 });
});

test("the dashboard takes six statements including authentication, with any filter", async () => {
  const board_id = await newBoard();
  const group_id = await addGroup(world, home, "Counted", [board_id]);
  for (const query of [{}, { range: "1y" }, { board_id, group_id }]) {
    expect(await world.countStatements(() => read(query))).toBe(6);
  }
});
