import { tasks } from "@board/core/schema/all-tables";
import { startLeaseTimer } from "@board/local/lease-timer";
import { eq } from "drizzle-orm";
import { afterAll, expect, test, vi } from "vitest";
import { openServerWorld } from "../support/postgres-world.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { startServerProcess } from "../support/server-process.ts";
import { openTeamFixture, taskPath } from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";

const { world, team } = await openTeamFixture();
afterAll(cleanUpPrograms);

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

test("within five seconds of a lease's end, a process of the service frees the task of the client that was killed", async () => {
  const server = await openServerWorld();
  const home = await server.world.tenant("home");
  const { id } = await addTask(server.world, home);
  const taken = await server.world.call("POST", "/api/v1/agent/tasks/next", { agent: home.worker.token, body: {} });
  expect(taken.body.task.id).toBe(id);
  // The lease ends after the first check of the process and long before the next run of the schedule.
  const ends_at = new Date(Date.now() + 15_000);
  const of = eq(tasks.id, id);
  await server.world.db.update(tasks).set({ lease_expires_at: ends_at }).where(of);
  const service = await startServerProcess({
    issuer: server.world.identities.issuer,
    environment: { DATABASE_URL: server.url },
  });
  const read = async () => (await server.world.db.select().from(tasks).where(of))[0]!;
  expect((await read()).status).toBe("in_progress");
  await vi.waitFor(async () => expect(await read()).toMatchObject({ status: "inbox", lease_expires_at: null }), {
    timeout: ends_at.getTime() + 5_000 - Date.now(),
  });
  expect(Date.now()).toBeGreaterThan(ends_at.getTime());
  await service.stop();
  await server.close();
});
