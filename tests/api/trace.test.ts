import { gateway_circuits, gateways, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { runScheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { getPayloadJob } from "../support/jobs.ts";
import { openSyncWorld } from "../support/sync-world.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import type { LogLine } from "../support/world.ts";

const { world, home } = await setup(openSyncWorld());

beforeEach(async () => {
  await world.drain();
  await world.db.delete(jobs);
  world.log.length = 0;
});

const AWS = "1-5759e988-bd862e3fe1be46a994272793";
const W3C = "0af7651916cd43dd8448eb211c80319c";

describe("the trace id of a request", () => {
  const traceOf = async (headers: Record<string, string>) => {
    await world.call("GET", "/nowhere", { headers: { "x-request-id": "own-id", ...headers } });
    return world.log.at(-1)!["trace_id"];
  };

  test.each([
    ["the Root of X-Amzn-Trace-Id", { "x-amzn-trace-id": `Root=${AWS};Parent=53995c3f42cd8ad8;Sampled=1` }, AWS],
    [
      "the Root of X-Amzn-Trace-Id at any position",
      { "x-amzn-trace-id": `Self=1-67891234-12456789abcdef012345678a;Root=${AWS}` },
      AWS,
    ],
    ["the trace id of traceparent", { traceparent: `00-${W3C}-b7ad6b7169203331-01` }, W3C],
    ["the trace id of a later traceparent version", { traceparent: `01-${W3C}-b7ad6b7169203331-01-more` }, W3C],
    [
      "X-Amzn-Trace-Id rather than traceparent",
      { "x-amzn-trace-id": `Root=${AWS}`, traceparent: `00-${W3C}-b7ad6b7169203331-01` },
      AWS,
    ],
  ])("the trace id is taken from the headers: %s", async (_name, headers, trace) => {
    expect(await traceOf(headers)).toBe(trace);
  });

  test.each<[string, Record<string, string>]>([
    ["no header is sent", {}],
    ["Root is not a trace id", { "x-amzn-trace-id": "Root=<script>" }],
    ["Root is too long", { "x-amzn-trace-id": `Root=${AWS}0` }],
    ["the trace id of traceparent is all zeros", { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` }],
    ["the version of traceparent is invalid", { traceparent: `ff-${W3C}-b7ad6b7169203331-01` }],
    ["traceparent of version 0 has extra fields", { traceparent: `00-${W3C}-b7ad6b7169203331-01-more` }],
    ["X-Amzn-Trace-Id is oversized", { "x-amzn-trace-id": `${"x".repeat(100_000)};Root=${AWS}` }],
  ])("the trace id is the request id when %s", async (_name, headers) => {
    expect(await traceOf(headers)).toBe("own-id");
  });
});

test("one trace id follows a webhook post from its request to its agent", async () => {
  const webhook = await createWebhook(world, home);
  const payload_id = await postPayload(world, webhook, "{}", { "x-request-id": "post-1" });
  const job = await getPayloadJob(world, payload_id);
  expect(job.trace_id).toBeTruthy();
  await world.drain();
  const { organization_id, board_id, gateway_id } = home;
  const request = { request_id: "post-1", board_id, organization_id };
  expect(world.log.filter((line) => line["trace_id"] === job.trace_id)).toMatchObject([
    { event: "webhook.accepted", level: "info", payload_id, webhook_id: webhook.id, ...request },
    { event: "http.request", status: 202, ...request },
    { event: "jobs.done", level: "info", job_id: job.id, kind: "webhook.notify", attempt: 1, organization_id, gateway_id },
  ]);
});

const ofJobs = (line: LogLine) => line.event.startsWith("jobs.");

test("a job that fails, dies or crashes is logged once, with every id needed to find it", async () => {
  const webhook = await createWebhook(world, home);
  const job = await getPayloadJob(world, await postPayload(world, webhook));
  const { token_sealed } = (await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id)))[0]!;
  const updateGateway = (change: object) => world.db.update(gateways).set(change).where(eq(gateways.id, home.gateway_id));
  const facts = {
    job_id: job.id,
    kind: "webhook.notify",
    trace_id: job.trace_id,
    organization_id: home.organization_id,
    gateway_id: home.gateway_id,
  };
  const { url } = (await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id)))[0]!;

  await updateGateway({ url: "ws://127.0.0.1:9" });
  await deliver(world.context(), job.id);
  expect(world.log.filter(ofJobs)).toMatchObject([{ event: "jobs.attempt_failed", level: "warn", attempt: 1, ...facts }]);

  world.log.length = 0;
  await updateGateway({ url, token_sealed: Buffer.alloc(60) });
  world.elapse(60_000);
  await expect(deliver(world.context(), job.id)).rejects.toThrow("another ENCRYPTION_KEY");
  expect(world.log.filter(ofJobs)).toMatchObject([
    { event: "jobs.crashed", level: "error", attempt: 2, stack: expect.stringContaining("at "), ...facts },
  ]);

  world.log.length = 0;
  await updateGateway({ url: "ws://127.0.0.1:9", token_sealed });
  await world.db.update(jobs).set({ max_attempts: 3 });
  await deliver(world.context(), job.id);
  expect(world.log.filter(ofJobs)).toMatchObject([{ event: "jobs.dead", level: "error", attempt: 3, ...facts }]);
  await updateGateway({ url });
  await world.db.delete(gateway_circuits);
  world.elapse(-60_000);
});

test("jobs created by a job keep its trace id, and each run of a schedule has a new one", async () => {
  await world.call("PATCH", `/api/v1/gateways/${home.gateway_id}`, {
    token: home.owner.token,
    body: { sync_interval_minutes: 60 },
  });
  await world.db.update(gateways).set({ sync_due_at: new Date(0) });
  await world.db.delete(jobs);
  await runScheduled(world.context(), "sync");
  await world.drain();
  const created = await world.db.select().from(jobs);
  expect(new Set(created.map(({ kind }) => kind))).toEqual(new Set(["sync.start", "sync.agent", "sync.finish"]));
  const traces = new Set(created.map(({ trace_id }) => trace_id));
  expect([...traces]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);

  await runScheduled(world.context(), "probe");
  const probe = (await world.db.select().from(jobs)).find(({ kind }) => kind === "gateway.probe");
  expect(probe!.trace_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(traces.has(probe!.trace_id)).toBe(false);
});
