/**
 * Compares every figure for random histories with a simple recount that goes through all events once per bucket. The process and
 * the database run in time zones with odd offsets and daylight saving time.
 */
import { rowsOf } from "@board/core/db/database";
import { activity_events, task_transitions, tasks } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { sql } from "drizzle-orm";
import { afterAll, expect, test } from "vitest";
import { addGroup } from "../support/group.ts";
import { addEmptyBoard, readDashboard, createStoppableClock, type Transition } from "./dashboard-fixture.ts";
import { type Status, STATUSES } from "../support/task-rules.ts";
import { createWorld, openTestDatabase } from "../support/world.ts";

const HOUR = 3_600_000;
const RANGES = { "24h": 1, "3d": 3, "7d": 7, "14d": 14, "1m": 30, "3m": 90, "6m": 180, "1y": 365 };
type Range = keyof typeof RANGES;

const zone = process.env.TZ;
const clock = createStoppableClock();

process.env.TZ = "America/St_Johns";
const database = await openTestDatabase([], { time_zone: "Australia/Lord_Howe" });
const world = await createWorld({ clock: clock.now, database });
const home = await world.tenant("home");
afterAll(async () => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
  await world.close();
  await database.close();
});

/** Creates a seeded random generator (mulberry32), so that a failure can be reproduced. */
function randomFrom(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number) => Math.floor(next() * count);
  return { below, oneOf: <T>(list: readonly T[]): T => list[below(list.length)]!, chance: (share: number) => next() < share };
}
type Random = ReturnType<typeof randomFrom>;

interface Move {
  board_id: string;
  /** The stored value: null for a deleted task. */
  task_id: string | null;
  from: Status | null;
  to: Status | null;
  at: number;
  in_progress_at: number | null;
}
interface History {
  now: number;
  /** The moves of each task, in order. */
  tasks: Move[][];
  events: { board_id: string; at: number; failed: boolean }[];
}

/** The starts of the hour, day, week (Monday) and month of a time, computed from its date fields. */
const STARTS: Record<string, (time: number) => string> = {
  hour: (time) => `${new Date(time).toISOString().slice(0, 13)}:00:00.000Z`,
  day: (time) => `${new Date(time).toISOString().slice(0, 10)}T00:00:00.000Z`,
  week: (time) => {
    let day = time;
    while (!new Date(day).toUTCString().startsWith("Mon")) day -= 24 * HOUR;
    return `${new Date(day).toISOString().slice(0, 10)}T00:00:00.000Z`;
  },
  month: (time) => `${new Date(time).toISOString().slice(0, 7)}-01T00:00:00.000Z`,
};
const sizeOf = (range: Range) => {
  if (range === "24h") return "hour";
  if (range === "3m" || range === "6m") return "week";
  return range === "1y" ? "month" : "day";
};

/** Picks a time for an edge case: exactly at the edge of a bucket or window, or just before or after it. */
function pickTime(random: Random, now: number): number {
  const range = random.oneOf(Object.keys(RANGES) as Range[]);
  const length = RANGES[range] * 24 * HOUR;
  const anywhere = now - random.below(2 * length + 10 * HOUR);
  if (random.chance(0.3)) return anywhere;
  const edge = random.chance(0.3)
    ? now - random.oneOf([0, 1, 2]) * length
    : Date.parse(STARTS[sizeOf(range)]!(random.chance(0.5) ? anywhere : now));
  return edge + random.oneOf([-1, 0, 0, 1, random.below(HOUR), -random.below(HOUR)]);
}

function pickTask(random: Random, now: number, board_id: string): Move[] {
  const times = Array.from({ length: 1 + random.below(9) }, () => pickTime(random, now));
  const ascending = [...new Set(times)].toSorted((a, b) => a - b);
  const gone = random.chance(0.25) && ascending.length > 1;
  const task_id = gone ? null : crypto.randomUUID();
  let in_progress_at: number | null = null;
  let from: Status | null = null;
  return ascending.map((at, index) => {
    const others: Status[] = STATUSES.filter((status) => status !== from);
    const to: Status | null = gone && index === ascending.length - 1 ? null : random.oneOf([...others, "review", "done"]);
    const wasInProgress = in_progress_at;
    if (to === "in_progress" && (in_progress_at === null || from === "done")) in_progress_at = at;
    if (to === "inbox") in_progress_at = null;
    const move: Move = { board_id, task_id, from, to, at, in_progress_at: to === null ? wasInProgress : in_progress_at };
    from = to;
    return move;
  });
}

function pickHistory(random: Random, now: number, board_ids: readonly string[]): History {
  return {
    now,
    tasks: Array.from({ length: 40 }, () => pickTask(random, now, random.oneOf(board_ids))),
    events: Array.from({ length: 250 }, () => ({
      board_id: random.oneOf(board_ids),
      at: pickTime(random, now),
      failed: random.chance(0.3),
    })),
  };
}

async function store({ tasks: histories, events }: History): Promise<void> {
  const rows: Transition[] = histories.flat().map(({ from, to, at, in_progress_at, ...move }) => ({
    ...move,
    from_status: from,
    to_status: to,
    at: new Date(at),
    in_progress_at: in_progress_at === null ? null : new Date(in_progress_at),
  }));
  const living = histories.map((moves) => moves.at(-1)!).filter(({ task_id }) => task_id !== null);
  await world.db
    .insert(tasks)
    .values(living.map(({ task_id, board_id, to }) => ({ id: task_id!, board_id, title: "Task", status: to! })));
  await world.db.insert(task_transitions).values(rows);
  await world.db.insert(activity_events).values(
    events.map(({ board_id, at, failed }) => ({
      organization_id: home.organization_id,
      board_id,
      event_type: failed ? "task.assignee_wake_failed" : "task.updated",
      created_at: new Date(at),
    })),
  );
}

const rounded = (value: number) => Math.round(value * 100) / 100;
const HOURS = (ms: number) => ms / HOUR;
const rate = (events: History["events"]) =>
  events.length === 0 ? 0 : rounded((100 * events.filter(({ failed }) => failed).length) / events.length);
const isCycle = (move: Move): move is Move & { in_progress_at: number } => move.to === "done" && move.in_progress_at !== null;

function expectedOf(history: History, range: Range) {
  const { now } = history;
  const length = RANGES[range] * 24 * HOUR;
  const bucket = sizeOf(range);
  const moves = history.tasks.flat();
  const statusAt = (task: Move[], end: number) => task.findLast(({ at }) => at < end)?.to ?? null;
  const series = (start: number, end: number) => {
    const periods = new Set<string>();
    for (let time = start; time < end; time += bucket === "hour" ? HOUR : 24 * HOUR) periods.add(STARTS[bucket]!(time));
    periods.add(STARTS[bucket]!(end));
    const per = [...periods].map((period, index, all) => {
      const from = Math.max(start, Date.parse(period));
      const to = Math.min(end, index + 1 < all.length ? Date.parse(all[index + 1]!) : end);
      const within = <T extends { at: number }>(list: readonly T[]) => list.filter(({ at }) => at >= from && at < to);
      const cycles = within(moves).filter(isCycle);
      const reviews = within(moves).filter((move) => move.to === "review");
      const distinct = new Set(
        reviews.map((one) => one.task_id ?? (one.in_progress_at && one.board_id + one.in_progress_at) ?? one),
      );
      const isNow = end === now && index === all.length - 1;
      const ended = history.tasks.map((task) => statusAt(task, isNow ? Number.POSITIVE_INFINITY : to));
      const inStatus = (status: Status) => ended.filter((one) => one === status).length;
      return {
        throughput: { period, value: distinct.size },
        cycle_time: {
          period,
          value: rounded(HOURS(cycles.reduce((sum, one) => sum + one.at - one.in_progress_at, 0) / (cycles.length || 1))),
        },
        error_rate: { period, value: rate(within(history.events)) },
        wip: {
          period,
          inbox: inStatus("inbox"),
          in_progress: inStatus("in_progress"),
          review: inStatus("review"),
          done: inStatus("done"),
        },
      };
    });
    return <K extends keyof (typeof per)[number]>(metric: K) => ({ range, bucket, points: per.map((one) => one[metric]) });
  };
  const primary = series(now - length, now);
  const comparison = series(now - 2 * length, now - length);
  const compared = (metric: Parameters<typeof primary>[0]) => ({ primary: primary(metric), comparison: comparison(metric) });
  const week = moves
    .filter(isCycle)
    .filter(({ at }) => at >= now - 7 * 24 * HOUR && at < now)
    .map((one) => HOURS(one.at - one.in_progress_at))
    .toSorted((a, b) => a - b);
  const middle = [week[Math.floor((week.length - 1) / 2)]!, week[Math.floor(week.length / 2)]!];
  const inWindow = history.events.filter(({ at }) => at >= now - length && at < now);
  const current = (status: Status) => history.tasks.filter((task) => task.at(-1)!.to === status).length;
  return {
    range,
    generated_at: new Date(now).toISOString(),
    kpis: {
      active_agents: 0,
      tasks_in_progress: current("in_progress"),
      error_rate_pct: rate(inWindow),
      median_cycle_time_hours_7d: week.length === 0 ? null : rounded((middle[0]! + middle[1]!) / 2),
      inbox_tasks: current("inbox"),
      in_progress_tasks: current("in_progress"),
      review_tasks: current("review"),
      done_tasks: current("done"),
    },
    throughput: compared("throughput"),
    cycle_time: compared("cycle_time"),
    error_rate: compared("error_rate"),
    wip: compared("wip"),
    pending_approvals: { total: 0, items: [] },
  };
}

test.each([
  ["in the middle of everything", "2026-03-18T10:24:09.799Z"],
  ["on a leap day", "2024-02-29T23:59:59.999Z"],
  ["when a leap day has just ended", "2024-03-01T00:00:00.000Z"],
  ["a year after a leap day", "2025-02-28T12:00:00.001Z"],
  ["on the last day of a leap year", "2024-12-31T00:00:00.000Z"],
  ["at the end of a month of 31 days", "2026-07-31T22:30:00.000Z"],
  ["at the start of a year", "2026-01-01T00:00:00.000Z"],
  ["when a week starts", "2026-06-15T00:00:00.000Z"],
  ["when a week ends", "2026-06-14T23:59:59.999Z"],
  ["when clocks go forward in America", "2026-03-08T10:00:00.000Z"],
  ["when clocks go back in Europe", "2026-10-25T01:00:00.000Z"],
  ["when clocks change by half an hour in Australia", "2026-04-04T15:00:00.000Z"],
])("every range shows the same figures as a simple recount: %s, %s", async (_name, moment) => {
  const now = Date.parse(moment);
  const random = randomFrom(now);
  const board_ids = [await addEmptyBoard(world, home), await addEmptyBoard(world, home)];
  const other = await addEmptyBoard(world, home);
  const group_id = await addGroup(world, home, "Told", board_ids);
  const history = pickHistory(random, now, board_ids);
  await store(pickHistory(random, now, [other]));
  clock.stopAt(new Date(now));
  const ctx = world.context();
  const expectExact = async (what: string, stored: History) => {
    for (const range of Object.keys(RANGES) as Range[]) {
      const answer = await readDashboard(world, home.owner, { range, group_id });
      expect(answer.body, `${range} ${what}`).toEqual(expectedOf(stored, range));
    }
  };
  const early = { ...history, tasks: history.tasks.slice(0, 20), events: history.events.slice(0, 125) };
  await store(early);
  await expectExact("from single rows", early);
  await scheduled.lifecycle(ctx);
  await expectExact("from counts", early);
  await store({ ...history, tasks: history.tasks.slice(20), events: history.events.slice(125) });
  await expectExact("from counts and single rows", history);
  await scheduled.lifecycle(ctx);
  await expectExact("from counts that were added to", history);
});

test("the process and the database of this file are not in UTC", async () => {
  expect(new Date(2026, 0, 1).getTimezoneOffset()).toBe(210);
  expect(rowsOf(await world.db.execute(sql`show time zone`))).toEqual([{ TimeZone: "Australia/Lord_Howe" }]);
});
