import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gateways, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { runScheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { bundleFunctions } from "../support/bundle.ts";
import { apiGatewayEvent } from "../support/aws-events.ts";
import { addJob } from "../support/jobs.ts";
import { startLambda } from "../support/lambda-sandbox.ts";
import { openSyncWorld } from "../support/sync-world.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { TEST_KEYS } from "../support/world.ts";

const MINUTE = 60_000;

const { world, fixture: sync, home } = await setup(openSyncWorld({ environment: { AUTH_FAILURES_PER_MINUTE: "2" } }));

beforeEach(async () => {
  await world.drain();
  await world.db.delete(jobs);
  world.measurements.length = 0;
});

const ofHome = () => eq(gateways.id, home.gateway_id);
const change = (values: object) => world.db.update(gateways).set(values).where(ofHome());
const measured = (name: string) => world.measurements.filter((measurement) => measurement.name === name);

test("AuthFailures counts every refused credential, even over the limit, but no missing or valid one", async () => {
  // The limit is counted per clock minute, so the test begins at the start of a minute. Afterwards the clock is set back, because
  // later tests compare it with the time of the database.
  const toNextMinute = MINUTE - (world.now().getTime() % MINUTE);
  world.elapse(toNextMinute);
  onTestFinished(() => world.elapse(-toNextMinute));
  const { token } = home.owner;
  await world.call("GET", "/api/v1/users/me", { token });
  await world.call("GET", "/api/v1/agent/healthz", { agent: home.lead.token });
  await world.call("GET", "/api/v1/users/me");
  expect(measured("AuthFailures")).toEqual([]);
  const statuses: number[] = [];
  for (const path of ["/api/v1/users/me", "/api/v1/boards", "/api/v1/tags"])
    statuses.push((await world.call("GET", path, { token: "wrong" })).status);
  statuses.push((await world.call("GET", "/api/v1/agent/healthz", { agent: "wrong" })).status);
  expect(statuses).toEqual([401, 401, 429, 429]);
  expect(measured("AuthFailures")).toEqual(statuses.map(() => ({ name: "AuthFailures", value: 1, dimensions: {} })));
});

describe("the metric DeliveryAttempts", () => {
  const outcomes = () => measured("DeliveryAttempts").map(({ dimensions }) => dimensions["outcome"]);

  test("attempts are counted by kind and outcome, and a wake-up without a job to run is not counted", async () => {
    const id = await addJob(world, home);
    await deliver(world.context(), id);
    await deliver(world.context(), id);
    await deliver(world.context(), crypto.randomUUID());
    expect(measured("DeliveryAttempts")).toEqual([
      { name: "DeliveryAttempts", value: 1, dimensions: { kind: "webhook.notify", outcome: "done" } },
    ]);
  });

  test("retried, crashed and dead attempts have different outcomes", async () => {
    await postPayload(world, await createWebhook(world, home));
    const [{ id } = { id: "" }] = await world.db.select({ id: jobs.id }).from(jobs);
    const { url, token_sealed } = (await world.db.select().from(gateways).where(ofHome()))[0]!;
    await change({ url: "ws://127.0.0.1:9" });
    await deliver(world.context(), id);
    await change({ url, token_sealed: Buffer.alloc(60) });
    world.elapse(MINUTE);
    await expect(deliver(world.context(), id)).rejects.toThrow("another ENCRYPTION_KEY");
    await change({ url: "ws://127.0.0.1:9", token_sealed });
    await world.db.update(jobs).set({ max_attempts: 3 });
    await deliver(world.context(), id);
    await change({ url });
    world.elapse(-MINUTE);
    expect(outcomes()).toEqual(["retry", "crashed", "dead"]);
    expect(measured("IngestLag")).toEqual([]);
  });
});

test("IngestLag measures the time from a post to the notification of its agent", async () => {
  await postPayload(world, await createWebhook(world, home));
  world.elapse(5 * MINUTE);
  await world.drain();
  world.elapse(-5 * MINUTE);
  const [lag, ...more] = measured("IngestLag");
  expect([lag, more]).toEqual([{ name: "IngestLag", value: expect.any(Number), dimensions: {} }, []]);
  expect(lag!.value).toBeGreaterThanOrEqual(5 * MINUTE);
  expect(lag!.value).toBeLessThan(6 * MINUTE);
});

test("SyncDuration is recorded when a sync ends, for inline and scheduled syncs", async () => {
  expect((await sync.sync()).status).toBe(200);
  expect(measured("SyncDuration")).toEqual([{ name: "SyncDuration", value: expect.any(Number), dimensions: {} }]);
  await change({ sync_due_at: new Date(0), sync_interval_minutes: 60 });
  await runScheduled(world.context(), "sync");
  expect(measured("SyncDuration")).toHaveLength(1);
  await world.drain();
  expect(measured("SyncDuration")).toHaveLength(2);
  for (const { value } of measured("SyncDuration")) expect(value).toBeLessThan(MINUTE);
  await change({ sync_due_at: null, sync_interval_minutes: null });
});

describe("the metric JobAge", () => {
  const age = async () => {
    world.measurements.length = 0;
    await runScheduled(world.context(), "relay");
    const [{ value, ...rest } = { value: -1 }, ...more] = measured("JobAge");
    expect([rest, more]).toEqual([{ name: "JobAge", dimensions: {} }, []]);
    return Math.round(value / 60);
  };
  const ago = (minutes: number) => new Date(world.now().getTime() - minutes * MINUTE);
  const set = (id: string, values: Partial<typeof jobs.$inferInsert>) => world.db.update(jobs).set(values).where(eq(jobs.id, id));

  test("JobAge is the age in seconds of the oldest job that could run now, and 0 without one", async () => {
    expect(await age()).toBe(0);
    await addJob(world, home, { run_at: ago(3) });
    await addJob(world, home, { run_at: ago(7) });
    await addJob(world, home, { run_at: ago(-60) });
    expect(await age()).toBe(7);
  });

  test("JobAge ignores jobs that are finished, delayed, running or behind another job of their lane", async () => {
    for (const status of ["done", "dead"] as const) await set(await addJob(world, home, { run_at: ago(50) }), { status });
    await addJob(world, home, { lane: "delayed", run_at: ago(-1) });
    await addJob(world, home, { lane: "delayed", run_at: ago(40) });
    const busy = await addJob(world, home, { lane: "busy", run_at: ago(30) });
    await addJob(world, home, { lane: "busy", run_at: ago(30) });
    await set(busy, { status: "running", lease_until: ago(-1) });
    const alone = await addJob(world, home, { run_at: ago(30) });
    await set(alone, { status: "running", lease_until: ago(-1) });
    expect(await age()).toBe(0);
    // The lease has ended, so another worker could have run the job since then.
    await set(busy, { lease_until: ago(2) });
    expect(await age()).toBe(2);
    await set(alone, { lease_until: ago(4) });
    expect(await age()).toBe(4);
  });
});

test("a function writes its metrics to its log in CloudWatch's format before it answers", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "meter-"));
  const { tags } = await bundleFunctions(["tags"], { into: folder });
  const lambda = await startLambda({
    folder: tags!.folder,
    env: {
      ...TEST_KEYS,
      STAGE: "trial",
      DATABASE_URL: "postgres://nobody:none@127.0.0.1:9/none",
      QUEUE_URLS:
        "deliveries=http://127.0.0.1:9/d,syncs=http://127.0.0.1:9/s,probes=http://127.0.0.1:9/p,outbound=http://127.0.0.1:9/o",
      LOCAL_AUTH_TOKEN: "t".repeat(50),
      AUTH_FAILURES_PER_MINUTE: "0",
    },
  });
  const ask = (authorization?: string) =>
    lambda.invoke(apiGatewayEvent("GET", "/api/v1/tags", { headers: authorization ? { authorization } : {} }));
  const emf = () =>
    lambda.logs
      .join("")
      .split("\n")
      .filter((line) => line.includes('"_aws"'))
      .map((line) => JSON.parse(line));
  try {
    await ask();
    expect(emf()).toEqual([]);
    expect(await ask("Bearer wrong")).toMatchObject({ statusCode: 401 });
    expect(emf()).toEqual([
      {
        _aws: {
          Timestamp: expect.any(Number),
          CloudWatchMetrics: [
            {
              Namespace: "BoardCoordination",
              Dimensions: [["service", "stage"]],
              Metrics: [{ Name: "AuthFailures", Unit: "Count" }],
            },
          ],
        },
        service: "board-coordination",
        stage: "trial",
        AuthFailures: 1,
      },
    ]);
  } finally {
    await lambda.stop();
    await rm(folder, { recursive: true });
  }
});
