import { jobs } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { afterAll, expect, test, vi } from "vitest";
import { QUEUE, startAwsDeployment, SYNCS_QUEUE } from "./deployment.ts";
import { scheduleEvent } from "../support/aws-events.ts";
import { listRuns, createSyncFixture } from "../support/sync-fixture.ts";

const cloud = await startAwsDeployment();
const fixture = await createSyncFixture(cloud.world, "2026.9.6");
afterAll(async () => {
  await cloud?.close();
  await fixture?.fake.close();
});

const path = `/api/v1/gateways/${fixture.home.gateway_id}/templates/sync`;
const ask = async (method: string, url: string, headers: Record<string, string> = {}) => {
  const answer = await cloud.request("templates", method, url, {
    headers: { authorization: `Bearer ${fixture.home.owner.token}`, ...headers },
  });
  return { status: answer.status, location: answer.headers.get("location"), body: (await answer.json()) as SyncBody };
};
interface SyncBody {
  run_id: string;
  status: string;
  total_synced: number;
  errors: unknown[];
  result: { total_synced: number; errors: unknown[] };
}

test("an inline sync through API Gateway and the bundle uses one socket and no queue", async () => {
  const { opened } = fixture.fake.connections;
  const { status, body } = await ask("POST", `${path}?rotate_tokens=true`);
  expect([status, body.errors, body.total_synced, fixture.fake.connections.opened - opened]).toEqual([200, [], 3, 1]);
  for (const queue of [QUEUE, SYNCS_QUEUE]) expect(await cloud.sqs.depth(queue)).toEqual({ ready: 0, in_flight: 0, delayed: 0 });
});

test("an asynchronous sync runs through its own queue and consumer, with a message per agent", async () => {
  const started = await ask("POST", path, { prefer: "respond-async" });
  expect([started.status, started.location, started.body.status]).toEqual([202, `${path}/${started.body.run_id}`, "running"]);
  expect([(await cloud.sqs.depth(SYNCS_QUEUE)).ready, (await cloud.sqs.depth(QUEUE)).ready]).toEqual([1, 0]);
  const source = cloud.mapSyncs();
  await vi.waitFor(async () => expect((await ask("GET", started.location!)).body.status).toBe("done"), { timeout: 30_000 });
  await source.stop();
  expect((await ask("GET", started.location!)).body.result).toMatchObject({ errors: [], total_synced: 3 });
  const done = (await cloud.world.db.select().from(jobs)).filter(({ kind }) => kind === "sync.agent");
  expect(done.filter(({ status }) => status !== "done")).toEqual([]);
  expect((await cloud.sqs.depth(QUEUE)).ready).toBe(0);
});

test("the schedule starts the syncs that are due", async () => {
  const { gateway_id, owner } = fixture.home;
  const body = { sync_interval_minutes: 60 };
  await cloud.world.call("PATCH", `/api/v1/gateways/${gateway_id}`, { token: owner.token, body });
  cloud.elapse(61 * 60_000);
  await (await cloud.lambda("schedule")).invoke(scheduleEvent("sync"));
  cloud.elapse(-61 * 60_000);
  const [run] = (await listRuns(cloud.world, gateway_id)).filter(({ cause }) => cause === "schedule");
  expect(run).toMatchObject({ status: "running" });
  expect((await cloud.sqs.depth(SYNCS_QUEUE)).ready).toBe(1);
  await cloud.world.db.delete(jobs).where(eq(jobs.kind, "sync.start"));
});
