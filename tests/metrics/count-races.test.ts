/**
 * Compares the dashboard with plain statements over single rows, both in one snapshot, while moves commit late and are counted,
 * and tasks and boards are removed. The table `true_tasks` keeps the ids of removed tasks.
 */
import { setTimeout as pause } from "node:timers/promises";
import { countNewEvents } from "@board/core/activity/counted-events";
import type { Member } from "@board/core/context/actor";
import { rowsOf } from "@board/core/db/database";
import { activity_events, task_counts, task_transitions, tasks, transition_counts } from "@board/core/schema/all-tables";
import { countNewTransitions } from "@board/core/metrics/counted-transitions";
import { type Dashboard, getDashboard } from "@board/core/metrics/dashboard";
import { type RangeKey, toEdges, toTimeline } from "@board/core/metrics/range";
import { eq, sql, TransactionRollbackError } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { addEvents } from "../support/activity.ts";
import { addRaceBoard, countDeadlocks, createMany, openRaceFixture, pick, type RaceBoard } from "../support/task-races.ts";
import type { World } from "../support/world.ts";

const RANGES = ["24h", "3d", "7d", "1m", "3m", "1y"] as const;
const HOUR = 3_600_000;
/** Long, because the tests read thousands of rows again and again, without the stored counts. */
const LIMIT_MS = 120_000;

const races = await setup(openRaceFixture());
const { world } = races;
await world.db.execute(sql`create table true_tasks (move_id uuid primary key, task_id uuid)`);
await world.db.execute(sql`create function keep_task() returns trigger language plpgsql as
    'begin insert into true_tasks values (new.id, new.task_id); return new; end'`);
await world.db.execute(sql`create trigger keep_task before insert on task_transitions for each row execute function keep_task()`);

/** Returns an actor who may read all boards of the organization. */
const reader = (): Member => {
  const rights = { all_boards_read: true, all_boards_write: true };
  const active = { organization_id: races.home.organization_id, member_id: crypto.randomUUID(), role: "owner", ...rights };
  return { type: "user", user_id: crypto.randomUUID(), display_name: "Reader", active } as Member;
};

const rounded = (value: number) => Math.round(value * 100) / 100;

/** Computes the figures of a dashboard from single rows: joins each interval with all rows of the board. */
async function recount({ db }: Pick<World, "db">, board_id: string, range: RangeKey, now: Date) {
  const edges = toEdges(toTimeline(range, now)).map((edge) => edge.toISOString());
  const within = (column: string) => sql.raw(`${column} >= part.start and ${column} < part.stop`);
  const result = await db.execute(sql`
    select (select count(distinct true_tasks.task_id)::int from ${task_transitions} as move join true_tasks on move_id = move.id
        where move.board_id = ${board_id} and to_status = 'review' and ${within("move.at")}) as reviewed,
      (select coalesce(extract(epoch from avg(at - in_progress_at)) / 3600, 0)::float8 from ${task_transitions} as move
        where move.board_id = ${board_id} and to_status = 'done' and in_progress_at is not null and ${within("move.at")}) as cycle,
      (select coalesce(100.0 * count(*) filter (where event_type like '%failed') / nullif(count(*), 0), 0)::float8
        from ${activity_events} as event where event.board_id = ${board_id} and ${within("event.created_at")}) as errors,
      (select jsonb_object_agg(status, (select count(*) from ${tasks} as task where task.board_id = ${board_id} and task.status = shown.status)
          - (select count(*) from ${task_transitions} as move where move.board_id = ${board_id} and move.to_status = shown.status and move.at >= part.shown_at)
          + (select count(*) from ${task_transitions} as move where move.board_id = ${board_id} and move.from_status = shown.status and move.at >= part.shown_at))
        from unnest(array['inbox', 'in_progress', 'review', 'done']) as shown(status)) as wip
    from unnest(${sql.param(edges.slice(0, -1))}::timestamptz[], ${sql.param(edges.slice(1))}::timestamptz[],
      ${sql.param([...edges.slice(1, -1), "infinity"])}::timestamptz[]) with ordinality as part(start, stop, shown_at, place)
    order by place`);
  return rowsOf<Recounted>(result);
}

interface Recounted {
  reviewed: number;
  cycle: number;
  errors: number;
  wip: Record<string, number>;
}

/** Returns the points of a dashboard in the form of `recount`: first the comparison range, then the range itself. */
function toRecounted({ throughput, cycle_time, error_rate, wip }: Dashboard): Recounted[] {
  const points = <P>({ comparison, primary }: { comparison: { points: P[] }; primary: { points: P[] } }) => [
    ...comparison.points,
    ...primary.points,
  ];
  const works = points(wip);
  const [reviewed, cycles, errors] = [points(throughput), points(cycle_time), points(error_rate)];
  return works.map(({ period: _period, ...counts }, index) => ({
    reviewed: reviewed[index]!.value,
    cycle: cycles[index]!.value,
    errors: errors[index]!.value,
    wip: counts,
  }));
}

/** Compares all figures of a board, read in one snapshot. */
const expectExact = (board_id: string, range: RangeKey = pick(RANGES)) =>
  world.db.transaction(
    async (db) => {
      const now = new Date(Date.now() - Math.floor(Math.random() * 3 * HOUR));
      const ctx = { ...world.context(), db, now: () => now, actor: reader() };
      const expected = await recount({ db }, board_id, range, now);
      const dashboard = await getDashboard(ctx, { range, board_id });
      expect(toRecounted(dashboard)).toEqual(
        expected.map((row) => ({ ...row, cycle: rounded(row.cycle), errors: rounded(row.errors) })),
      );
    },
    { isolationLevel: "repeatable read" },
  );

const STATUSES = ["inbox", "in_progress", "review", "done", "blocked"] as const;

/** Stores tasks with their moves as one transaction, which takes a while and sometimes fails, and returns the ids. */
async function addHistories(board_id: string, count: number): Promise<string[]> {
  const ids = createMany(count, () => crypto.randomUUID());
  const stored = world.db.transaction(async (db) => {
    for (const id of ids) {
      const times = createMany(1 + Math.floor(Math.random() * 8), () => Date.now() - Math.random() ** 3 * 200 * 24 * HOUR);
      // Moves of earlier versions have no `reviewed_before`. After a task is removed, its moves are recognized by `in_progress_at`.
      const in_progress_at = new Date(Math.min(...times) - Math.floor(Math.random() * HOUR));
      const isOld = Math.random() < 0.5;
      let from_status: string | null = null;
      let reviewed: string | null = "-infinity";
      const moves = [...new Set(times.map(Math.floor))]
        .toSorted((a, b) => a - b)
        .map((ms) => {
          const to_status = pick(STATUSES.filter((status) => status !== from_status));
          const at = new Date(ms).toISOString();
          const move = { at, from_status, to_status, reviewed_before: to_status === "review" && !isOld ? reviewed : null };
          if (to_status === "review") reviewed = at;
          from_status = to_status;
          return move;
        });
      const status = moves.at(-1)!.to_status;
      await db.insert(tasks).values({ id, board_id, title: "Task", status });
      await db.execute(sql`
        insert into ${task_transitions} (board_id, task_id, from_status, to_status, at, in_progress_at, reviewed_before)
        select ${board_id}, ${id}, from_status, to_status, at, ${in_progress_at.toISOString()}, reviewed_before
        from json_to_recordset(${JSON.stringify(moves)}::json) as given(
          from_status text, to_status text, at timestamptz, reviewed_before timestamptz)`);
    }
    const event = () => ({ board_id, event_type: pick(["task.updated", "webhook.notify_failed"]), created_at: recently() });
    await addEvents({ db }, races.home, createMany(5, event));
    await pause(Math.random() * 15);
    if (Math.random() < 0.2) db.rollback();
  });
  return stored.then(
    () => ids,
    (error: unknown) => {
      if (error instanceof TransactionRollbackError) return [];
      throw error;
    },
  );
}
const recently = () => new Date(Date.now() - Math.floor(Math.random() ** 2 * 60 * 24 * HOUR));

/** Moves tasks through the API, some of them by several people at once, and removes a few. */
async function work({ patch, create, remove }: RaceBoard, ids: readonly string[]): Promise<number[]> {
  const created = await create({ title: "Made" });
  const all = [...ids, created.body.id as string];
  const moves = [...all, ...all].map((id) => patch(id, { status: pick(STATUSES.slice(0, 4)) }));
  const removals = all.filter(() => Math.random() < 0.4).map((id) => pause(Math.random() * 20).then(() => remove(id)));
  return (await Promise.all([...moves, ...removals])).map(({ status }) => status);
}

const count = async () => {
  await countNewTransitions(world.context());
  await countNewEvents(world.context());
};

test(
  "the figures equal a recount of single rows while moves commit late, are counted, and lose their tasks",
  async () => {
    const board = await addRaceBoard(world, races.home, 0);
    const { board_id } = board;
    const before = await countDeadlocks(world);
    const answers: number[] = [];
    let going = true;
    const forever = async (repeat: () => Promise<unknown>, ms: number) => {
      while (going) {
        await repeat();
        await pause(Math.random() * ms);
      }
    };
    const others = [
      forever(() => addHistories(board_id, 2), 5),
      forever(count, 5),
      forever(count, 30),
      forever(() => expectExact(board_id), 1),
    ];
    await Promise.all(
      createMany(3, async () => {
        for (let round = 0; round < 5; round++) answers.push(...(await work(board, await addHistories(board_id, 3))));
      }),
    );
    going = false;
    await Promise.all(others);
    for (const range of RANGES) await expectExact(board_id, range);
    await count();
    for (const range of RANGES) await expectExact(board_id, range);
    expect(answers.filter((status) => ![200, 404, 409].includes(status))).toEqual([]);
    expect(await world.db.$count(transition_counts, eq(transition_counts.board_id, board_id))).toBeGreaterThan(100);
    expect(await countDeadlocks(world)).toBe(before);
  },
  LIMIT_MS,
);

test("a move that commits after later moves were counted is counted once, and no move is counted twice", async () => {
  const { board_id } = await addRaceBoard(world, races.home, 0);
  const [task_id, at] = [crypto.randomUUID(), new Date(Date.now() - 50 * HOUR)];
  await world.db.transaction(async (db) => {
    await db.insert(tasks).values({ id: task_id, board_id, title: "Late", status: "review" });
    await db.insert(task_transitions).values({ board_id, task_id, to_status: "review", at });
    for (let round = 0; round < 2; round++) {
      await addHistories(board_id, 3);
      await Promise.all(createMany(3, count));
      await expectExact(board_id, "7d");
    }
  });
  await expectExact(board_id, "7d");
  for (let round = 0; round < 2; round++) {
    await Promise.all(createMany(3, count));
    await expectExact(board_id, "7d");
  }
  const { total } = rowsOf<{ total: number }>(
    await world.db.execute(sql`
    select sum(inbox + in_progress + review + done)::int as total from ${task_counts} where board_id = ${board_id}`),
  )[0]!;
  expect(total).toBe(await world.db.$count(tasks, sql`board_id = ${board_id} and status <> 'blocked'`));
});

test(
  "moves that earlier versions stored are counted with the tasks that they belong to, even in more than one batch",
  async () => {
    const { board_id, remove } = await addRaceBoard(world, races.home, 0);
    await world.db.execute(sql`with made as (
      insert into ${tasks} (board_id, title, status, created_at)
      select ${board_id}, 'Old', 'done', now() - random() * interval '90 days' from generate_series(1, 850) returning id, created_at)
    insert into ${task_transitions} (board_id, task_id, from_status, to_status, at, in_progress_at)
    select ${board_id}, id, (array['inbox', 'in_progress', 'review', 'in_progress', 'review', 'done'])[step - 1],
      (array['inbox', 'in_progress', 'review', 'in_progress', 'review', 'done'])[step],
      created_at + step * interval '7 hours', created_at + random() * interval '6 hours'
    from made, generate_series(1, 6) as step`);
    await expectExact(board_id, "1m");
    await count();
    for (const range of ["7d", "3m"] as const) await expectExact(board_id, range);
    const [oldest] = await world.db.select({ id: tasks.id }).from(tasks).where(eq(tasks.board_id, board_id)).limit(1);
    expect((await remove(oldest!.id)).status).toBe(200);
    await expectExact(board_id, "3m");
    await count();
    await expectExact(board_id, "3m");
  },
  LIMIT_MS,
);

test("a board that is deleted while its moves are counted leaves no rows behind", async () => {
  for (let round = 0; round < 4; round++) {
    const { board_id, person } = await addRaceBoard(world, races.home, 0);
    await addHistories(board_id, 20);
    const [removed] = await Promise.all([
      pause(Math.random() * 10).then(() => world.call("DELETE", `/api/v1/boards/${board_id}`, person)),
      ...createMany(2, count),
    ]);
    expect(removed.status).toBe(200);
    for (const table of [transition_counts, task_counts])
      expect(await world.db.$count(table, eq(table.board_id, board_id))).toBe(0);
  }
});
