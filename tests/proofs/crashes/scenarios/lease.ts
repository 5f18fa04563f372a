import { expect } from "vitest";
import type { Answer } from "../../../support/http.ts";
import type { ServiceEnvironment } from "../../load/environment.ts";
import type { Scenario } from "../walk.ts";
import type { ScenarioFixture } from "./setup.ts";

const LEASE_MS = 901_000;

interface LeasedTask {
  id: string;
  status: string;
  leased: boolean;
  fence: number;
}

/** An agent takes its next task. */
export const claim: Scenario = {
  name: "an agent takes its next task",

  async act(outside, { worker }, answers) {
    answers.push(await next(outside, worker.token));
  },

  async check(outside, fixture, answers) {
    for (const { status, body } of answers) expect([status, body.task?.title]).toEqual([200, "First"]);
    return checkLease(outside, fixture);
  },
};

/** The lease of a task expires after its holder went silent. */
export const expiry: Scenario = {
  name: "a lease expires",

  async act(outside, { worker }, answers) {
    answers.push(await next(outside, worker.token));
    await outside.elapse(LEASE_MS);
    await outside.schedule("lifecycle");
  },

  check: (outside, fixture) => checkLease(outside, fixture),
};

const next = (outside: ServiceEnvironment, agent: string) =>
  outside.request("POST", "/api/v1/agent/tasks/next", { agent, body: { parallel: true } });

/** Checks that the task, its lease, its transitions and its events agree, and that the next agent that takes it can finish it. */
async function checkLease(outside: ServiceEnvironment, { board_id, worker }: ScenarioFixture): Promise<null> {
  const before = await readTask(outside);
  await expectAgreement(outside, before);
  await outside.elapse(LEASE_MS);
  await outside.schedule("lifecycle");
  await outside.drainQueue();
  await expectAgreement(outside, await readTask(outside));
  const taken = await next(outside, worker.token);
  expect(taken.body.task).toMatchObject({ id: before.id, status: "in_progress", assigned_agent_id: worker.id });
  expect(taken.body.lease.fence).toBeGreaterThan(before.fence);
  const submit = (fence: number): Promise<Answer> =>
    outside.request("PATCH", `/api/v1/agent/boards/${board_id}/tasks/${before.id}`, {
      agent: worker.token,
      body: { status: "review", comment: "Ready" },
      headers: { "x-task-fence": String(fence) },
    });
  const late = await submit(before.fence);
  expect([late.status, late.body.detail.code]).toEqual([409, "task_lease_lost"]);
  expect((await submit(taken.body.lease.fence)).status).toBe(200);
  await outside.drainQueue();
  await expectAgreement(outside, await readTask(outside));
  expect(await outside.rows("select kind, status, last_error from jobs where status <> 'done'")).toEqual([]);
  return null;
}

async function readTask(outside: ServiceEnvironment): Promise<LeasedTask> {
  const [task] = await outside.rows<LeasedTask>(
    "select id, status, lease_expires_at is not null as leased, lease_fence as fence from tasks where title = 'First'",
  );
  return task!;
}

async function expectAgreement(outside: ServiceEnvironment, { id, status, leased }: LeasedTask): Promise<void> {
  const steps = await outside.rows<{ from_status: string | null; to_status: string }>(
    `select from_status, to_status from task_transitions where task_id = '${id}' order by at`,
  );
  expect(steps.at(-1)!.to_status).toBe(status);
  expect(leased).toBe(status === "in_progress");
  const events = await outside.rows<{ event_type: string }>(`select event_type from activity_events where task_id = '${id}'`);
  const count = (type: string) => events.filter(({ event_type }) => event_type === type).length;
  expect(count("task.status_changed")).toBe(steps.length - 1);
  expect(count("task.lease_expired")).toBe(
    steps.filter((step) => step.from_status === "in_progress" && step.to_status === "inbox").length,
  );
}
