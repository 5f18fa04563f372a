import { activity_events, task_transitions, tasks } from "@board/core/schema/all-tables";
import { runScheduled } from "@board/api/work/schedules";
import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addRaceBoard, countDeadlocks, openRaceFixture } from "../support/task-races.ts";
import { setup } from "../support/fixtures.ts";

const { world, home } = await setup(openRaceFixture());

const next = (agent: string) => world.call("POST", "/api/v1/agent/tasks/next", { agent, body: { parallel: true } });

/** Lets every agent take tasks until it gets none. Returns the ids of the tasks in the order of the answers. */
async function takeAll(workers: readonly { token: string }[]): Promise<string[]> {
  const taken: string[] = [];
  const work = async ({ token }: { token: string }) => {
    for (;;) {
      const { status, body } = await next(token);
      expect(status).toBe(200);
      if (body.task === null) return;
      taken.push(body.task.id);
    }
  };
  await Promise.all(workers.map(work));
  return taken;
}

test("agents that take tasks at the same time get each task once", async () => {
  const { board_id, workers, tasks: add } = await addRaceBoard(world, home, 16);
  const ids = await add(160);
  const taken = await takeAll(workers);
  expect(taken.toSorted()).toEqual(ids);
  const moves = await world.db.$count(task_transitions, eq(task_transitions.board_id, board_id));
  expect(moves).toBe(160);
  const rows = await world.db.select().from(tasks).where(eq(tasks.board_id, board_id));
  expect(new Set(rows.map(({ lease_fence }) => lease_fence))).toEqual(new Set([1]));
  expect(await countDeadlocks(world)).toBe(0);
});

test("an expired lease ends once when many agents and scheduled runs find it at the same time", async () => {
  const { board_id, workers, tasks: add } = await addRaceBoard(world, home, 8);
  await add(40);
  expect((await takeAll(workers)).length).toBe(40);
  world.elapse(901_000);
  const sweeps = Array.from({ length: 4 }, () => runScheduled(world.context(), "lifecycle"));
  const [taken] = await Promise.all([takeAll(workers), ...sweeps]);
  taken.push(...(await takeAll(workers)));
  expect(new Set(taken).size).toBe(40);
  expect(taken.length).toBe(40);
  const expired = and(eq(activity_events.board_id, board_id), eq(activity_events.event_type, "task.lease_expired"));
  expect(await world.db.$count(activity_events, expired)).toBe(40);
  expect(await countDeadlocks(world)).toBe(0);
});

test("agents that take tasks while people change them get different tasks, and only tasks in progress have a lease", async () => {
  const { board_id, workers, tasks: add, patch } = await addRaceBoard(world, home, 8);
  const ids = await add(80);
  const people = ids.map((id, index) => patch(id, index % 2 ? { status: "done" } : { assigned_agent_id: workers[0]!.id }));
  const [taken, answers] = await Promise.all([takeAll(workers.slice(1)), Promise.all(people)]);
  expect(new Set(taken).size).toBe(taken.length);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const rows = await world.db.select().from(tasks).where(eq(tasks.board_id, board_id));
  const leased = rows.filter(({ lease_expires_at }) => lease_expires_at !== null);
  expect(leased.filter(({ status, assigned_agent_id }) => status !== "in_progress" || assigned_agent_id === null)).toEqual([]);
  expect(await countDeadlocks(world)).toBe(0);
});
