import { tasks } from "@board/core/schema/all-tables";
import { startLeaseTimer } from "@board/local/lease-timer";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openTeamFixture, taskPath, type Team } from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";
import type { World } from "../support/world.ts";

let world: World;
let team: Team;

beforeAll(async () => {
  ({ world, team } = await openTeamFixture());
});
afterAll(() => world.close());

test("the task of a dead agent is free when its lease ends, without a request and without the schedule", async () => {
  await addTask(world, team);
  const taken = await world.call("POST", "/api/v1/agent/tasks/next", { agent: team.worker.token, body: { lease_seconds: 60 } });
  const { id } = taken.body.task;
  await world.db
    .update(tasks)
    .set({ lease_expires_at: new Date(Date.now() + 500) })
    .where(eq(tasks.id, id));
  const stop = startLeaseTimer(
    () => world.context(),
    () => {},
  );
  const read = async () => (await world.call("GET", taskPath(team, id), { token: team.owner.token })).body;
  expect((await read()).status).toBe("in_progress");
  await vi.waitFor(async () => expect(await read()).toMatchObject({ status: "inbox", lease: null }), { timeout: 10_000 });
  await stop();
});
