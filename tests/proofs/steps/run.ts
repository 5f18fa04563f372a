/**
 * Agents that add steps to their runs in batches, repeat them, overlap them and leave gaps, while processes of the service are
 * killed. Every step must be stored exactly once and in order.
 */
import { unpack } from "@board/core/run/steps/pack";
import { expect } from "vitest";
import type { ServiceEnvironment } from "../load/environment.ts";
import { type FleetPlan, runFleet, type Send } from "../load/fleet-run.ts";
import type { ProcessPool } from "../load/process-pool.ts";
import { createRandom, type Random } from "../load/random.ts";

export interface StepsPlan extends FleetPlan {
  /** Batches that all agents together send. */
  batches: number;
  /** The largest batch. */
  batch_size: number;
}

export interface StepsFigures extends Record<string, number | string> {
  steps: number;
  repeated: number;
  gaps: number;
  kills: number;
}

interface Runner {
  name: string;
  token: string;
  run_id: string;
  /** Steps that are known to be stored. */
  stored: number;
  busy: boolean;
}

const textOf = ({ name }: Runner, n: number) => `${name} step ${n} ${"=".repeat(n % 97)}`;

export async function runSteps(crew: ProcessPool, plan: StepsPlan): Promise<StepsFigures> {
  const random = createRandom(plan.seed);
  const counts = { repeated: 0, gaps: 0 };

  async function post(send: Send, runner: Runner, from: number, size: number) {
    const steps = Array.from({ length: size }, (_, index) => ({ kind: "message", text: textOf(runner, from + index) }));
    const request = {
      method: "POST",
      path: `/api/v1/agent/runs/${runner.run_id}/steps`,
      headers: { "x-agent-token": runner.token },
      body: { from, steps },
    };
    let reply = await send(request);
    while (reply === null) reply = await send(request);
    return { status: reply.status, body: JSON.parse(reply.text) as { next?: number; detail?: { next?: number } } };
  }

  /**
   * Sends a batch of the steps that follow the stored ones. It sometimes begins too early or too late, and is sometimes sent
   * twice at the same time.
   */
  async function addBatch(send: Send, runner: Runner): Promise<void> {
    const size = 1 + Math.floor(random() * plan.batch_size);
    const [kind, depth] = [random(), Math.floor(random() * plan.batch_size)];
    if (kind < 0.1) {
      const { status, body } = await post(send, runner, runner.stored + 1 + depth, size);
      expect([status, body.detail?.next]).toEqual([409, runner.stored]);
      counts.gaps += 1;
    }
    const from = kind > 0.8 ? Math.max(0, runner.stored - depth) : runner.stored;
    const times = kind > 0.9 ? 2 : 1;
    if (from < runner.stored || times > 1) counts.repeated += 1;
    const answers = await Promise.all(Array.from({ length: times }, () => post(send, runner, from, size)));
    const next = Math.max(runner.stored, from + size);
    for (const { status, body } of answers) expect([status, body.next]).toEqual([200, next]);
    runner.stored = next;
  }

  const work = {
    random,
    times: plan.batches,
    seed: (outside: ServiceEnvironment) => createRunners(outside, plan.clients),
    async act(send: Send, runners: Runner[]) {
      const runner = pickIdle(random, runners);
      runner.busy = true;
      await addBatch(send, runner);
      runner.busy = false;
    },
  };
  return runFleet(crew, plan, work, async ({ place, rows, kills, figures, errors }) => {
    expect(errors).toEqual([]);
    for (const runner of place) await expectEachOnce(rows, runner);
    const steps = place.reduce((sum, { stored }) => sum + stored, 0);
    return { steps, ...counts, ...figures, kills };
  });
}

function pickIdle(random: Random, runners: readonly Runner[]): Runner {
  const idle = runners.filter(({ busy }) => !busy);
  return idle[Math.floor(random() * idle.length)]!;
}

/** Creates agents without a host, each of which holds the lease of a task. */
async function createRunners(outside: ServiceEnvironment, count: number): Promise<Runner[]> {
  const { id: board_id } = await outside.create<{ id: string }>("/api/v1/boards", {
    name: "Home",
    description: "A board",
    gateway: "pull",
    max_agents: count,
  });
  const runners: Runner[] = [];
  for (let index = 0; index < count; index++) {
    const name = `Runner ${index}`;
    const { auth_token } = await outside.create<{ auth_token: string }>("/api/v1/agents", { name, board_id });
    const { id } = await outside.create<{ id: string }>(`/api/v1/boards/${board_id}/tasks`, { title: name });
    const path = `/api/v1/agent/boards/${board_id}/tasks/${id}/lease`;
    await outside.request("PUT", path, { agent: auth_token, body: { lease_seconds: 86_400 } });
    const [task] = await outside.rows<{ run_id: string }>(`select run_id from tasks where id = '${id}'`);
    runners.push({ name, token: auth_token, run_id: task!.run_id, stored: 0, busy: false });
  }
  return runners;
}

async function expectEachOnce(rows: ServiceEnvironment["rows"], runner: Runner): Promise<void> {
  const [run] = await rows<{ steps: number }>(`select steps from runs where id = '${runner.run_id}'`);
  expect(run!.steps, runner.name).toBe(runner.stored);
  const stored = await rows<{ first: number; body: Uint8Array }>(
    `select first, body from run_steps where run_id = '${runner.run_id}' order by first`,
  );
  let n = 0;
  for (const { first, body } of stored) {
    expect(first, runner.name).toBe(n);
    for (const step of await unpack(body, first)) expect(step["text"], runner.name).toBe(textOf(runner, n++));
  }
  expect(n, runner.name).toBe(runner.stored);
}
