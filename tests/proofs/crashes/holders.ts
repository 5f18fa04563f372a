/**
 * Agents that take tasks under leases and are killed at random points of their work. Some writes of a killed agent arrive only
 * after its lease has expired, while other agents work on its tasks.
 */
import { runs, task_transitions, tasks } from "@board/core/schema/all-tables";
import { runScheduled } from "@board/api/work/schedules";
import { and, eq, sql } from "drizzle-orm";
import { expect } from "vitest";
import type { Answer } from "../../support/http.ts";
import { openServerWorld } from "../../support/postgres-world.ts";
import { addRaceBoard, type RaceBoard } from "../../support/task-races.ts";
import type { World } from "../../support/world.ts";
import { createRandom, pick, type Random } from "../load/random.ts";

export interface HoldersPlan {
  seed: number;
  tasks: number;
  /** The maximum number of agents to kill. Fewer are killed if the last task is done before that. */
  kills: number;
  agents: number;
}

export interface HoldersFigures extends Record<string, number> {
  seed: number;
  kills: number;
  rounds: number;
  late_writes: number;
  poisoned: number;
}

/** The chance that an agent is killed while it works on a task. */
const DEATH_RATE = 0.85;
const LEASE_SECONDS = 60;
/** The steps of the work on a task, and when an agent dies at a step: before its request, while it runs, or after it. */
const STEPS = ["next", "comment", "done"] as const;
const TIMES = ["before", "during", "after"] as const;
interface Death {
  step: (typeof STEPS)[number];
  time: (typeof TIMES)[number];
}

const isFinish = (death: Death | null) => death === null || (death.step === "done" && death.time !== "before");

type Write = () => Promise<Answer>;

interface Run {
  world: World;
  board: RaceBoard;
  random: Random;
  plan: HoldersPlan;
  kills: number;
  /** Attempts that finish a task. */
  finishing: number;
  /** Writes of killed agents, which arrive in the next round. */
  late: Write[];
}

/** Lets agents finish all tasks while they are killed. Throws when a guarantee of leases does not hold. */
export async function runHolders(plan: HoldersPlan): Promise<HoldersFigures> {
  const { world, close } = await openServerWorld();
  try {
    const board = await addRaceBoard(world, await world.tenant("holders"), plan.agents);
    await board.tasks(plan.tasks);
    const run: Run = { world, board, random: createRandom(plan.seed), plan, kills: 0, finishing: 0, late: [] };
    const figures = await finishAll(run);
    await expectDoneOnce(run);
    await expectRunsEnded(run);
    return figures;
  } finally {
    await close();
  }
}

async function finishAll(run: Run): Promise<HoldersFigures> {
  const { world, board, plan } = run;
  const figures = { seed: plan.seed, kills: 0, rounds: 0, late_writes: 0, poisoned: 0 };
  const isDone = and(eq(tasks.board_id, board.board_id), eq(tasks.status, "done"));
  while ((await world.db.$count(tasks, isDone)) < plan.tasks) {
    const late = run.late.splice(0);
    const [answers] = await Promise.all([
      Promise.all(late.map((write) => write())),
      ...board.workers.map(({ token }) => work(run, token)),
    ]);
    // The leases of these writes have expired, so their tasks are free, or others work on them or have done them.
    for (const { status, body } of answers) expect([status, body.detail?.code]).toEqual([409, "task_lease_lost"]);
    figures.late_writes += late.length;
    figures.rounds += 1;
    world.elapse(LEASE_SECONDS * 1_000 + 1_000);
    await runScheduled(world.context(), "lifecycle");
    figures.poisoned += await unblock(run);
  }
  const last = await Promise.all(run.late.map((write) => write()));
  for (const { status } of last) expect(status).toBe(409);
  return { ...figures, kills: run.kills, late_writes: figures.late_writes + last.length };
}

/** Runs the processes of an agent one after the other. Each takes tasks until there is none. */
async function work(run: Run, agent: string): Promise<void> {
  const { world, board } = run;
  for (;;) {
    const death = chooseDeath(run);
    const diesAt = (step: Death["step"], time: Death["time"]) => death?.step === step && death.time === time;
    if (diesAt("next", "before")) continue;
    const next = await world.call("POST", "/api/v1/agent/tasks/next", {
      agent,
      body: { lease_seconds: LEASE_SECONDS, parallel: true },
    });
    expect(next.status).toBe(200);
    if (next.body.task === null) return void (run.finishing -= isFinish(death) ? 1 : 0);
    // An agent that dies during the request never learns its fence.
    if (diesAt("next", "during")) continue;
    const { task, lease } = next.body;
    const send = (method: string, path: string, body: object) => (): Promise<Answer> =>
      world.call(method, `/api/v1/agent/boards/${board.board_id}/tasks/${task.id}${path}`, {
        agent,
        body,
        headers: { "x-task-fence": String(lease.fence) },
      });
    const comment = send("POST", "/comments", { content: "Half done" });
    const done = send("PATCH", "", { status: "done" });
    if (diesAt("next", "after") || diesAt("comment", "before")) run.late.push(comment, done);
    else {
      expect((await comment()).status).toBe(200);
      if (death?.step === "comment" || diesAt("done", "before")) run.late.push(done);
      else expect((await done()).status).toBe(200);
    }
  }
}

/**
 * Chooses when an attempt is killed; null if it survives. The share of finished tasks never gets ahead of the share of kills done,
 * so attempts are killed until the end of the run.
 */
function chooseDeath(run: Run): Death | null {
  const { random, plan } = run;
  const mayFinish = run.kills >= plan.kills || run.finishing * plan.kills < run.kills * plan.tasks;
  for (;;) {
    const dies = run.kills < plan.kills && random() < DEATH_RATE;
    const death = dies ? { step: pick(random, STEPS), time: pick(random, TIMES) } : null;
    if (isFinish(death) && !mayFinish) continue;
    if (isFinish(death)) run.finishing += 1;
    if (death) run.kills += 1;
    return death;
  }
}

/** Returns the blocked tasks to the inbox, as the lead. They were blocked because their leases kept expiring. */
async function unblock({ world, board }: Run): Promise<number> {
  const blocked = and(eq(tasks.board_id, board.board_id), eq(tasks.status, "blocked"));
  const rows = await world.db.select({ id: tasks.id }).from(tasks).where(blocked);
  for (const { id } of rows) expect((await board.patch(id, { status: "inbox" }, board.lead)).status).toBe(200);
  return rows.length;
}

async function expectDoneOnce({ world, board, plan }: Run): Promise<void> {
  const finished = and(eq(task_transitions.board_id, board.board_id), eq(task_transitions.to_status, "done"));
  const steps = await world.db.select({ task_id: task_transitions.task_id }).from(task_transitions).where(finished);
  expect(new Set(steps.map(({ task_id }) => task_id)).size).toBe(plan.tasks);
  expect(steps.length).toBe(plan.tasks);
}

/** Checks that every attempt is a run, that the runs of killed agents have expired, and that one run of each task submitted it. */
async function expectRunsEnded({ world, board, plan }: Run): Promise<void> {
  const stored = await world.db.select().from(runs).where(eq(runs.board_id, board.board_id));
  const countOf = (status: string) => stored.filter((run) => run.status === status).length;
  expect(countOf("submitted")).toBe(plan.tasks);
  expect(countOf("expired")).toBe(stored.length - plan.tasks);
  const [sum] = await world.db
    .select({ runs: sql<number>`sum(${tasks.run_count})::int` })
    .from(tasks)
    .where(eq(tasks.board_id, board.board_id));
  expect(sum!.runs).toBe(stored.length);
}
