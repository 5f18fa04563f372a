import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { scheduled } from "@board/api/work/schedules";
import { moveOldSteps } from "@board/core/run/steps/move";
import { run_steps } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { startRun } from "../support/run.ts";
import { createTeam, taskPath } from "../support/task-rules.ts";

const DAY = 86_400_000;
const folder = mkdtempSync(path.join(tmpdir(), "steps-"));
afterAll(() => rmSync(folder, { recursive: true }));
const world = await setupWorld({ environment: { WEBHOOK_BODY_STORAGE: folder } });
const team = await createTeam(world, "home");

const asOwner = (method: string, target: string, body?: object) =>
  world.call(method, target, { token: team.owner.token, ...(body ? { body } : {}) });
const objects = () => readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

test("steps of an ended run move to the body storage, can still be read unchanged, and are deleted with their task", async () => {
  const { task_id, run_id } = await startRun(world, team);
  const steps = Array.from({ length: 60 }, (_, index) => ({ kind: "message", text: `Step ${index} ${crypto.randomUUID()}` }));
  for (const from of [0, 60])
    await world.call("POST", `/api/v1/agent/runs/${run_id}/steps`, { agent: team.worker.token, body: { from, steps } });
  const read = async () => (await asOwner("GET", `/api/v1/boards/${team.board_id}/runs/${run_id}/steps?limit=200`)).body.items;
  const before = await read();
  const storedInside = async () =>
    (await world.db.select({ body: run_steps.body }).from(run_steps).where(eq(run_steps.run_id, run_id))).filter(
      ({ body }) => body !== null,
    );

  await scheduled.bodies(world.context());
  expect([await storedInside(), objects()]).toMatchObject([[{}, {}], 0]);
  await asOwner("POST", `/api/v1/boards/${team.board_id}/runs/${run_id}/stop`, {});
  world.elapse(DAY + 60_000);
  await scheduled.bodies(world.context());
  expect([await storedInside(), objects()]).toEqual([[], 2]);
  expect(await read()).toEqual(before);
  await scheduled.bodies(world.context());
  world.elapse(DAY);
  await scheduled.bodies(world.context());
  expect(objects()).toBe(2);

  expect((await asOwner("DELETE", taskPath(team, task_id))).status).toBe(200);
  await scheduled.bodies(world.context());
  expect(objects()).toBe(0);
});

test("the move of a long run's steps ends at its time limit, and a later call moves the rest", async () => {
  const { run_id } = await startRun(world, team);
  for (const from of [0, 1, 2]) {
    const body = { from, steps: [{ kind: "message", text: "Done" }] };
    await world.call("POST", `/api/v1/agent/runs/${run_id}/steps`, { agent: team.worker.token, body });
  }
  await asOwner("POST", `/api/v1/boards/${team.board_id}/runs/${run_id}/stop`, {});
  world.elapse(DAY + 60_000);
  const ctx = world.context();
  const bodies = ctx.bodies!;
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => now.mockRestore());
  const put = async (key: string, body: Uint8Array) => {
    now.mockReturnValue(31_000);
    await bodies.put(key, body);
  };
  await moveOldSteps({ ...ctx, bodies: { put, get: (key) => bodies.get(key), delete: (key) => bodies.delete(key) } });
  expect(objects()).toBe(1);
  await moveOldSteps(ctx);
  expect(objects()).toBe(3);
});
