import { setTimeout as pause } from "node:timers/promises";
import { countActivity, countComments } from "@board/core/activity/count";
import { countEvents } from "@board/core/activity/count-intervals";
import { countNewEvents } from "@board/core/activity/counted-events";
import type { Context } from "@board/core/context/context";
import { activity_counted, activity_counts, activity_events, boards } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { and, eq, inArray, sql, TransactionRollbackError } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addEvents, countFromLog, randomEdges } from "../support/activity.ts";
import { addBoard } from "../support/board.ts";
import {
  addRaceBoard,
  type RaceBoard,
  countDeadlocks,
  openRaceFixture,
  pick,
  type RaceFixture,
  createMany,
} from "../support/task-races.ts";
import { addTask } from "../support/task.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

const HOUR = 3_600_000;
const TYPES = ["task.comment", "task.updated", "webhook.notify_failed", "agent.provision.failed", "agent.heartbeat"];

const ago = (ms: number) => new Date(Date.now() - ms);
const countInLog = (world: Pick<World, "db">, board_ids: readonly string[], type?: string) =>
  world.db.$count(
    activity_events,
    and(inArray(activity_events.board_id, [...board_ids]), type ? eq(activity_events.event_type, type) : undefined),
  );

describe("counts in the embedded database", () => {
  let world: World;
  let home: Tenant;
  let board_ids: string[];

  beforeAll(async () => {
    world = await createWorld();
    home = await world.tenant("home");
    board_ids = [home.board_id, (await addBoard(world, home)).board_id];
  });
  afterAll(() => world.close());

  const scatterEvents = (count: number) =>
    addEvents(
      world,
      home,
      createMany(count, () => ({
        board_id: pick(board_ids),
        event_type: pick(TYPES),
        created_at: ago(Math.random() * 5 * HOUR),
      })),
    );

  /** Reads the numbers of each board, as the API returns them and as counted from the log. */
  async function readNumbers(): Promise<{ answered: unknown[]; expected: unknown[] }> {
    const ctx = world.context();
    const answered: unknown[] = [];
    const expected: unknown[] = [];
    for (const which of [board_ids, board_ids.slice(0, 1), []]) {
      for (const edges of [
        randomEdges(ago(6 * HOUR), ago(-HOUR), 7),
        randomEdges(ago(2 * HOUR), ago(HOUR), 4),
        createMany(6, (index) => new Date(Math.floor(Date.now() / HOUR) * HOUR - (5 - index) * HOUR)),
      ]) {
        answered.push(await countEvents(ctx, which, edges));
        expected.push(await countFromLog(world, which, edges));
      }
      answered.push(await countActivity(ctx, which, null), await countComments(ctx, which));
      expected.push(await countInLog(world, which), await countInLog(world, which, "task.comment"));
    }
    return { answered, expected };
  }
  async function expectTrue(): Promise<void> {
    const { answered, expected } = await readNumbers();
    expect(answered).toEqual(expected);
  }

  test("the numbers of any interval equal a count over the log, before, between and after runs that count new events", async () => {
    await scatterEvents(40);
    const { answered, expected } = await readNumbers();
    expect(answered).toEqual(expected);
    for (let round = 0; round < 3; round++) {
      await countNewEvents(world.context());
      await expectTrue();
      await scatterEvents(20);
      await expectTrue();
    }
  });

  test("counts of intervals that are empty or share an hour are exact, and without an interval there is no count", async () => {
    const hour = Math.floor(Date.now() / HOUR) * HOUR - 2 * HOUR;
    const at = (minutes: number) => new Date(hour + minutes * 60_000);
    const { board_id } = await addBoard(world, home, "Exact");
    const stamps = [0, 10, 10, 20, 59.999, 60, 61].map((minutes) => ({ board_id, created_at: at(minutes) }));
    await addEvents(world, home, stamps);
    const numbers = async (...minutes: number[]) =>
      (await countEvents(world.context(), [board_id], minutes.map(at))).map(({ events }) => events);
    for (const sweep of [false, true]) {
      if (sweep) await countNewEvents(world.context());
      expect(await numbers(0, 10, 20, 60, 120)).toEqual([1, 2, 2, 2]);
      expect(await numbers(10, 10, 11, 11, 20)).toEqual([0, 2, 0, 0]);
      expect(await numbers(0, 60)).toEqual([5]);
      expect(await numbers(-60, 0, 200)).toEqual([0, 7]);
      expect(await numbers(5)).toEqual([]);
      expect(await numbers()).toEqual([]);
    }
  });

  test("counting by a condition on boards gives the same numbers as counting by the ids of those boards", async () => {
    await scatterEvents(5);
    const which = sql`${boards}.organization_id = ${home.organization_id}`;
    expect(await countActivity(world.context(), which, null)).toBe(await countInLog(world, await boardsOf(home)));
  });

  const boardsOf = async ({ organization_id }: Tenant) =>
    (await world.db.select().from(boards).where(eq(boards.organization_id, organization_id))).map(({ id }) => id);

  test("the lifecycle schedule counts new events, and a run without new events writes nothing", async () => {
    await scatterEvents(5);
    await scheduled.lifecycle(world.context());
    const state = async () => [await world.db.select().from(activity_counted), await counts()];
    const counts = () =>
      world.db.select({ events: activity_counts.events, xmin: sql`${activity_counts}.xmin::text` }).from(activity_counts);
    const before = await state();
    await scheduled.lifecycle(world.context());
    expect(await state()).toEqual(before);
    const [sum] = await world.db
      .select({ events: sql<number>`sum(${activity_counts.events})::int` })
      .from(activity_counts)
      .where(sql`${activity_counts.hour} > '-infinity'`);
    expect(sum!.events).toBe(await world.db.$count(activity_events, sql`${activity_events.board_id} is not null`));
  });

  test("a backlog of more than one batch is counted completely", async () => {
    const { board_id } = await addBoard(world, home, "Backlog");
    await world.db.execute(sql`insert into ${activity_events} (organization_id, board_id, event_type)
      select ${home.organization_id}, ${board_id}, 'task.updated' from generate_series(1, 10001)`);
    await countNewEvents(world.context());
    const kept = await world.db.select().from(activity_counts).where(eq(activity_counts.board_id, board_id));
    expect(kept.map(({ events }) => events)).toEqual([await countInLog(world, [board_id]), await countInLog(world, [board_id])]);
    expect(await countActivity(world.context(), [board_id], null)).toBe(await countInLog(world, [board_id]));
  });

  test("deleting a task removes its comments from the numbers, whether they were counted or not", async () => {
    const { board_id } = home;
    const [gone, kept] = [await addTask(world, home), await addTask(world, home)];
    const commentOf = (task_id: string, hours: number) => ({
      board_id,
      task_id,
      event_type: "task.comment",
      created_at: ago(hours * HOUR),
    });
    await addEvents(world, home, [commentOf(gone.id, 3), commentOf(gone.id, 3), commentOf(gone.id, 1), commentOf(kept.id, 3)]);
    await countNewEvents(world.context());
    await addEvents(world, home, [commentOf(gone.id, 3), commentOf(kept.id, 0)]);
    const answer = await world.call("DELETE", `/api/v1/boards/${board_id}/tasks/${gone.id}`, { token: home.owner.token });
    expect(answer.status).toBe(200);
    await expectTrue();
    await countNewEvents(world.context());
    await expectTrue();
  });
});

/** Tests the counts under concurrent writes, which need several connections to a real server. */
describe("counts on a server", () => {
  let races: RaceFixture;
  let world: World;
  let home: Tenant;

  beforeAll(async () => {
    races = await openRaceFixture();
    ({ world, home } = races);
  });
  afterAll(() => races?.close());

  /** Compares every number with the log, both read in one snapshot. */
  const check = ({ board_id }: RaceBoard) =>
    world.db.transaction(
      async (db) => {
        const ctx: Context = { ...world.context(), db };
        const edges = randomEdges(ago(3 * HOUR), ago(-HOUR), 5);
        const answered = [
          await countEvents(ctx, [board_id], edges),
          await countActivity(ctx, [board_id], null),
          await countComments(ctx, [board_id]),
        ];
        const true_ = [
          await countFromLog(ctx, [board_id], edges),
          await countInLog(ctx, [board_id]),
          await countInLog(ctx, [board_id], "task.comment"),
        ];
        expect(answered).toEqual(true_);
      },
      { isolationLevel: "repeatable read" },
    );

  test("an event that is committed after later events were counted is counted once, and no event is counted twice", async () => {
    const race_board = await addRaceBoard(world, home, 0);
    const { board_id } = race_board;
    const later = () => addEvents(world, home, [{ board_id }]);
    await world.db.transaction(async (db) => {
      await addEvents({ db }, home, [{ board_id }, { board_id, event_type: "task.comment" }]);
      for (let round = 0; round < 2; round++) {
        await later();
        await Promise.all(createMany(3, () => countNewEvents(world.context())));
        await check(race_board);
      }
    });
    await check(race_board);
    for (let round = 0; round < 2; round++) {
      await Promise.all(createMany(3, () => countNewEvents(world.context())));
      await check(race_board);
    }
    const [sum] = await world.db
      .select()
      .from(activity_counts)
      .where(and(eq(activity_counts.board_id, board_id), sql`${activity_counts.hour} = '-infinity'`));
    expect(sum!.events).toBe(await countInLog(world, [board_id]));
  });

  test("the numbers stay exact while events are written late, counted, and removed with their tasks", async () => {
    const race_board = await addRaceBoard(world, home, 0);
    const { board_id } = race_board;
    const before = await countDeadlocks(world);
    let going = true;
    const answers: number[] = [];
    const forever = (work: () => Promise<unknown>, ms: number) => async () => {
      while (going) {
        await work();
        await pause(Math.random() * ms);
      }
    };
    async function write(): Promise<void> {
      const rows = createMany(3, () => ({ board_id, event_type: pick(TYPES), created_at: ago(Math.random() * 3 * HOUR) }));
      const written = world.db.transaction(async (db) => {
        await addEvents({ db }, home, rows);
        await pause(Math.random() * 15);
        if (Math.random() < 0.2) db.rollback();
      });
      await written.catch((error: unknown) => {
        if (!(error instanceof TransactionRollbackError)) throw error;
      });
    }
    const commentAndDelete = async () => {
      const ids = await race_board.tasks(2);
      const comments = ids.flatMap((task_id) =>
        createMany(3, () => ({ board_id, task_id, event_type: "task.comment", created_at: ago(Math.random() * 3 * HOUR) })),
      );
      await addEvents(world, home, comments);
      await pause(Math.random() * 10);
      answers.push(
        ...(await Promise.all([...ids.map((id) => race_board.remove(id)), race_board.comment(pick(ids))])).map(
          ({ status }) => status,
        ),
      );
    };
    const others = [
      ...createMany(2, () => forever(write, 5)),
      ...createMany(2, () => forever(() => countNewEvents(world.context()), 4)),
      forever(() => check(race_board), 1),
    ].map((work) => work());
    await Promise.all(
      createMany(3, async () => {
        for (let round = 0; round < 6; round++) await commentAndDelete();
      }),
    );
    going = false;
    await Promise.all(others);
    await check(race_board);
    await countNewEvents(world.context());
    await check(race_board);
    expect(answers.filter((status) => ![200, 404].includes(status))).toEqual([]);
    expect(answers.filter((status) => status === 200).length).toBeGreaterThanOrEqual(36);
    expect(await countDeadlocks(world)).toBe(before);
  });

  test("a board that is deleted while it is counted leaves no rows behind", async () => {
    for (let round = 0; round < 5; round++) {
      const race_board = await addRaceBoard(world, home, 0);
      const { board_id } = race_board;
      await addEvents(
        world,
        home,
        createMany(50, () => ({ board_id })),
      );
      const path = `/api/v1/boards/${board_id}`;
      const [removed] = await Promise.all([
        pause(Math.random() * 10).then(() => world.call("DELETE", path, race_board.person)),
        ...createMany(2, () => countNewEvents(world.context())),
      ]);
      expect(removed.status).toBe(200);
      expect(await world.db.$count(activity_counts, eq(activity_counts.board_id, board_id))).toBe(0);
    }
  });
});
