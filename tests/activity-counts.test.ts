import { setTimeout as pause } from "node:timers/promises";
import { countComments, countEvents, countListed } from "@board/core/activity/count";
import { countNewEvents } from "@board/core/activity/sweep";
import type { Context } from "@board/core/context";
import { activity_counted, activity_counts, activity_events, boards } from "@board/core/db/schema";
import { scheduled } from "@board/core/schedule";
import { and, eq, inArray, sql, TransactionRollbackError } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addEvents, countPlainly, randomEdges } from "./support/activity.ts";
import { addBoard } from "./support/board.ts";
import { addCrew, type Crew, deadlocks, openRaces, pick, type Races, times } from "./support/task-races.ts";
import { addTask } from "./support/task.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const HOUR = 3_600_000;
const TYPES = ["task.comment", "task.updated", "webhook.notify_failed", "agent.provision.failed", "agent.heartbeat"];

const ago = (ms: number) => new Date(Date.now() - ms);
const plainly = (world: Pick<World, "db">, board_ids: readonly string[], type?: string) =>
  world.db.$count(
    activity_events,
    and(inArray(activity_events.board_id, [...board_ids]), type ? eq(activity_events.event_type, type) : undefined),
  );

describe("in the embedded database", () => {
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
      times(count, () => ({ board_id: pick(board_ids), event_type: pick(TYPES), created_at: ago(Math.random() * 5 * HOUR) })),
    );

  /** Numbers of the boards as they are told, and as the log has them. */
  async function readNumbers(): Promise<{ told: unknown[]; plain: unknown[] }> {
    const ctx = world.context();
    const told: unknown[] = [];
    const plain: unknown[] = [];
    for (const which of [board_ids, board_ids.slice(0, 1), []]) {
      for (const edges of [
        randomEdges(ago(6 * HOUR), ago(-HOUR), 7),
        randomEdges(ago(2 * HOUR), ago(HOUR), 4),
        times(6, (index) => new Date(Math.floor(Date.now() / HOUR) * HOUR - (5 - index) * HOUR)),
      ]) {
        told.push(await countEvents(ctx, which, edges));
        plain.push(await countPlainly(world, which, edges));
      }
      told.push(await countListed(ctx, which, null), await countComments(ctx, which));
      plain.push(await plainly(world, which), await plainly(world, which, "task.comment"));
    }
    return { told, plain };
  }
  async function expectTrue(): Promise<void> {
    const { told, plain } = await readNumbers();
    expect(told).toEqual(plain);
  }

  test("numbers of any interval are those of the log, before, between and after sweeps", async () => {
    await scatterEvents(40);
    const { told, plain } = await readNumbers();
    expect(told).toEqual(plain);
    for (let round = 0; round < 3; round++) {
      await countNewEvents(world.context());
      await expectTrue();
      await scatterEvents(20);
      await expectTrue();
    }
  });

  test("intervals that share an hour, are empty or none at all are counted exactly", async () => {
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

  test("a condition names boards as well as their ids do", async () => {
    await scatterEvents(5);
    const which = sql`${boards}.organization_id = ${home.organization_id}`;
    expect(await countListed(world.context(), which, null)).toBe(await plainly(world, await boardsOf(home)));
    const edges = [ago(6 * HOUR), ago(-HOUR)];
    expect(await countEvents(world.context(), which, edges)).toEqual(await countPlainly(world, await boardsOf(home), edges));
  });

  const boardsOf = async ({ organization_id }: Tenant) =>
    (await world.db.select().from(boards).where(eq(boards.organization_id, organization_id))).map(({ id }) => id);

  test("the lifecycle schedule counts what is new, and a run with nothing new writes nothing", async () => {
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

  test("a backlog of more than one portion is counted to its end", async () => {
    const { board_id } = await addBoard(world, home, "Backlog");
    await world.db.execute(sql`insert into ${activity_events} (organization_id, board_id, event_type)
      select ${home.organization_id}, ${board_id}, 'task.updated' from generate_series(1, 10001)`);
    await countNewEvents(world.context());
    const kept = await world.db.select().from(activity_counts).where(eq(activity_counts.board_id, board_id));
    expect(kept.map(({ events }) => events)).toEqual([await plainly(world, [board_id]), await plainly(world, [board_id])]);
    expect(await countListed(world.context(), [board_id], null)).toBe(await plainly(world, [board_id]));
  });

  test("a task that goes takes its comments out of the numbers, counted or not", async () => {
    const { board_id } = home;
    const [gone, kept] = [await addTask(world, home), await addTask(world, home)];
    const said = (task_id: string, hours: number) => ({
      board_id,
      task_id,
      event_type: "task.comment",
      created_at: ago(hours * HOUR),
    });
    await addEvents(world, home, [said(gone.id, 3), said(gone.id, 3), said(gone.id, 1), said(kept.id, 3)]);
    await countNewEvents(world.context());
    await addEvents(world, home, [said(gone.id, 3), said(kept.id, 0)]);
    const answer = await world.call("DELETE", `/api/v1/boards/${board_id}/tasks/${gone.id}`, { token: home.owner.token });
    expect(answer.status).toBe(200);
    await expectTrue();
    await countNewEvents(world.context());
    await expectTrue();
  });
});

/** What holds at each moment, whoever writes: told on several connections of a real server. */
describe("on a server", () => {
  let races: Races;
  let world: World;
  let home: Tenant;

  beforeAll(async () => {
    races = await openRaces();
    ({ world, home } = races);
  });
  afterAll(() => races?.close());

  /** Holds every number against the log, both as of one moment. */
  const check = ({ board_id }: Crew) =>
    world.db.transaction(
      async (db) => {
        const ctx: Context = { ...world.context(), db };
        const edges = randomEdges(ago(3 * HOUR), ago(-HOUR), 5);
        const told = [
          await countEvents(ctx, [board_id], edges),
          await countListed(ctx, [board_id], null),
          await countComments(ctx, [board_id]),
        ];
        const true_ = [
          await countPlainly(ctx, [board_id], edges),
          await plainly(ctx, [board_id]),
          await plainly(ctx, [board_id], "task.comment"),
        ];
        expect(told).toEqual(true_);
      },
      { isolationLevel: "repeatable read" },
    );

  test("an event that commits after later ones were counted is counted once, and none is counted twice", async () => {
    const crew = await addCrew(world, home, 0);
    const { board_id } = crew;
    const later = () => addEvents(world, home, [{ board_id }]);
    await world.db.transaction(async (db) => {
      await addEvents({ db }, home, [{ board_id }, { board_id, event_type: "task.comment" }]);
      for (let round = 0; round < 2; round++) {
        await later();
        await Promise.all(times(3, () => countNewEvents(world.context())));
        await check(crew);
      }
    });
    await check(crew);
    for (let round = 0; round < 2; round++) {
      await Promise.all(times(3, () => countNewEvents(world.context())));
      await check(crew);
    }
    const [sum] = await world.db
      .select()
      .from(activity_counts)
      .where(and(eq(activity_counts.board_id, board_id), sql`${activity_counts.hour} = '-infinity'`));
    expect(sum!.events).toBe(await plainly(world, [board_id]));
  });

  test("numbers stay true at every moment while events are written late, counted, and removed with their tasks", async () => {
    const crew = await addCrew(world, home, 0);
    const { board_id } = crew;
    const before = await deadlocks(world);
    let going = true;
    const answers: number[] = [];
    const forever = (work: () => Promise<unknown>, ms: number) => async () => {
      while (going) {
        await work();
        await pause(Math.random() * ms);
      }
    };
    async function write(): Promise<void> {
      const rows = times(3, () => ({ board_id, event_type: pick(TYPES), created_at: ago(Math.random() * 3 * HOUR) }));
      const written = world.db.transaction(async (db) => {
        await addEvents({ db }, home, rows);
        await pause(Math.random() * 15);
        if (Math.random() < 0.2) db.rollback();
      });
      await written.catch((error: unknown) => {
        if (!(error instanceof TransactionRollbackError)) throw error;
      });
    }
    const talkAndRemove = async () => {
      const ids = await crew.tasks(2);
      const said = ids.flatMap((task_id) =>
        times(3, () => ({ board_id, task_id, event_type: "task.comment", created_at: ago(Math.random() * 3 * HOUR) })),
      );
      await addEvents(world, home, said);
      await pause(Math.random() * 10);
      answers.push(
        ...(await Promise.all([...ids.map((id) => crew.remove(id)), crew.comment(pick(ids))])).map(({ status }) => status),
      );
    };
    const others = [
      ...times(2, () => forever(write, 5)),
      ...times(2, () => forever(() => countNewEvents(world.context()), 4)),
      forever(() => check(crew), 1),
    ].map((work) => work());
    await Promise.all(
      times(3, async () => {
        for (let round = 0; round < 6; round++) await talkAndRemove();
      }),
    );
    going = false;
    await Promise.all(others);
    await check(crew);
    await countNewEvents(world.context());
    await check(crew);
    expect(answers.filter((status) => ![200, 404].includes(status))).toEqual([]);
    expect(answers.filter((status) => status === 200).length).toBeGreaterThanOrEqual(36);
    expect(await deadlocks(world)).toBe(before);
  });

  test("a board that is removed while it is counted leaves nothing behind", async () => {
    for (let round = 0; round < 5; round++) {
      const crew = await addCrew(world, home, 0);
      const { board_id } = crew;
      await addEvents(
        world,
        home,
        times(50, () => ({ board_id })),
      );
      const path = `/api/v1/boards/${board_id}`;
      const [removed] = await Promise.all([
        pause(Math.random() * 10).then(() => world.call("DELETE", path, crew.person)),
        ...times(2, () => countNewEvents(world.context())),
      ]);
      expect(removed.status).toBe(200);
      expect(await world.db.$count(activity_counts, eq(activity_counts.board_id, board_id))).toBe(0);
    }
  });
});
