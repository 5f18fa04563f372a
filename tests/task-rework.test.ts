import { agents } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import {
  addTransition,
  addWorker,
  changeTask,
  createTeam,
  openTeam,
  patchTask,
  type Team,
  type Who,
} from "./support/task-rules.ts";
import { addTask, type TaskRow } from "./support/task.ts";
import type { World } from "./support/world.ts";

/** To whom work goes that comes to review, and that the lead sends back from there. */
let world: World;
let team: Team;
let owner: Who;
let worker: Who;
let lead: Who;
let main: Who;

beforeAll(async () => {
  ({ world, team, owner, worker, lead, main } = await openTeam());
});
afterAll(() => world.close());

const PAST = new Date("2026-01-05T08:00:00.000Z");
const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, team, fields);
const change = (who: Who, task: TaskRow, body: object) => changeTask(world, who, task, body);
const back = async (task: TaskRow, sent?: string | null) =>
  (await change(lead, task, { status: "inbox", assigned_agent_id: sent })).assigned_agent_id;
const minute = (index: number) => new Date(PAST.getTime() + index * 60_000);
const HANDED = ["in_progress", "review"] as const;

test("it goes to the worker that handed it over, whomever the lead names", async () => {
  for (const sent of [undefined, null, team.second.id]) {
    const task = await add();
    await change(worker, task, { status: "in_progress" });
    expect((await change(worker, task, { status: "review" })).assigned_agent_id).toBe(team.lead.id);
    expect(await back(task, sent)).toBe(team.worker.id);
  }
});

test("it goes to the last one that did, not to the first and not to a lead", async () => {
  const task = await add({ status: "review", assigned_agent_id: team.lead.id });
  await addTransition(world, task, HANDED, team.worker, minute(1));
  await addTransition(world, task, HANDED, team.second, minute(2));
  await addTransition(world, task, ["review", "inbox"], team.worker, minute(3));
  await addTransition(world, task, HANDED, team.lead, minute(4));
  expect(await back(task)).toBe(team.second.id);
});

test("it goes to nobody when a person, the lead or a main agent handed it over", async () => {
  const moved = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
  await change(owner, moved, { status: "review" });
  expect(await back(moved, team.second.id)).toBeNull();
  const own = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
  await change(lead, own, { status: "review" });
  expect(await back(own)).toBeNull();
  const visitor = await add({ status: "in_progress" });
  await change(main, visitor, { status: "review" });
  expect(await back(visitor)).toBeNull();
});

test("it goes to nobody that has left the board or is gone", async () => {
  const leaver = await addWorker(world, team, "Leaver");
  const task = await add({ status: "review" });
  await addTransition(world, task, HANDED, leaver, minute(1));
  const elsewhere = await addBoard(world, team);
  await world.db.update(agents).set({ board_id: elsewhere.board_id }).where(eq(agents.id, leaver.id));
  expect(await back(task, team.second.id)).toBeNull();
  const other = await add({ status: "review" });
  await addTransition(world, other, HANDED, leaver, minute(1));
  await world.db.delete(agents).where(eq(agents.id, leaver.id));
  expect(await back(other)).toBeNull();
});

test("it does so for the lead alone: a person says to whom, a worker frees it", async () => {
  const handed = async () => {
    const task = await add({ status: "review" });
    await addTransition(world, task, HANDED, team.second, minute(1));
    return task;
  };
  expect((await change(owner, await handed(), { status: "inbox" })).assigned_agent_id).toBeNull();
  const given = { status: "inbox", assigned_agent_id: team.worker.id };
  expect((await change(owner, await handed(), given)).assigned_agent_id).toBe(team.worker.id);
  expect((await change(worker, await handed(), { status: "inbox" })).assigned_agent_id).toBeNull();
});

test("work that comes to review where there is no lead goes to whom a person names, and else to nobody", async () => {
  const leaderless = await createTeam(world, "leaderless");
  await world.db.update(agents).set({ is_board_lead: false }).where(eq(agents.id, leaderless.lead.id));
  const { owner, worker, second } = leaderless;
  for (const status of ["inbox", "in_progress", "done", "blocked"] as const)
    for (const [who, sent, assignee] of [
      [{ token: owner.token }, second.id, second.id],
      [{ token: owner.token }, undefined, null],
      [{ token: owner.token }, null, null],
      [{ agent: worker.token }, undefined, null],
      [{ agent: worker.token }, worker.id, null],
    ] as const) {
      const task = await addTask(world, leaderless, { status, assigned_agent_id: worker.id });
      const { body } = await patchTask(world, who, task, { status: "review", assigned_agent_id: sent });
      expect([body.status, body.assigned_agent_id], status).toEqual(["review", assignee]);
    }
});
