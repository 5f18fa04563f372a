import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { brotliDecompressSync } from "node:zlib";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { board_memory, board_webhook_payloads, jobs } from "@board/core/schema/all-tables";
import { listJobs } from "@board/core/job/job";
import { redriveJobs } from "@board/core/job/redrive";
import { backoff, RETRY_POLICIES } from "@board/core/job/kinds";
import { eq } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { routeOf } from "../support/api-gateway.ts";
import { QUEUE, startAwsDeployment } from "./deployment.ts";
import { apiGatewayEvent, functionUrlEvent, scheduleEvent, sqsEvent } from "../support/aws-events.ts";
import { getPayloadJob as jobOfPayload } from "../support/jobs.ts";
import { metricsOf } from "../support/lambda-sandbox.ts";
import { parseEvents } from "../support/sse.ts";
import { createWebhook } from "../support/webhook.ts";
import { setup } from "../support/fixtures.ts";

const host = await setup(startFakeGateway({ token: "test-token-123" }));
const cloud = await setup(startAwsDeployment());
const home = await cloud.world.tenant("home", host.url);
const webhook = await createWebhook(cloud.world, home, { description: "Triage the push" });

async function post(
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string> = { "content-type": "application/json" },
) {
  const answer = await cloud.request("ingest", "POST", path, { body, headers, sourceIp: "203.0.113.7" });
  return { status: answer.status, body: (await answer.json()) as { payload_id: string } };
}
const payloadOf = async (payload_id: string) => {
  const [row] = await cloud.world.db.select().from(board_webhook_payloads).where(eq(board_webhook_payloads.id, payload_id));
  return row;
};
const jobOf = (payload_id: string) => jobOfPayload(cloud.world, payload_id);
const messagesOf = (payload_id: string) => host.messages.filter(({ message }) => message.includes(`Payload ID: ${payload_id}`));
const asOwner = { authorization: `Bearer ${home.owner.token}` };

test("a webhook post reaches the agent once through API Gateway, the bundle, Neon's driver, SQS and the consumer", async () => {
  const source = cloud.mapDeliveries();
  const { status, body } = await post(webhook.endpoint_path, '{"after":12345678901234567890}');
  expect([status, body]).toEqual([
    202,
    { ok: true, board_id: home.board_id, webhook_id: webhook.id, payload_id: expect.any(String) },
  ]);
  await vi.waitFor(async () => expect((await jobOf(body.payload_id)).status).toBe("done"), { timeout: 20_000 });
  await source.stop();
  expect(messagesOf(body.payload_id)).toHaveLength(1);
  expect(messagesOf(body.payload_id)[0]).toMatchObject({ session_key: home.lead.session_key });
  const row = await payloadOf(body.payload_id);
  expect([Buffer.from(row!.body!).toString(), row!.source_ip]).toEqual(['{"after":12345678901234567890}', "203.0.113.7"]);
  const memories = await cloud.world.db.select().from(board_memory).where(eq(board_memory.board_id, home.board_id));
  expect(memories.filter(({ tags }) => tags?.includes(`payload:${body.payload_id}`))).toHaveLength(1);
});

test("a webhook post with a trailing slash is accepted by the function that API Gateway selects", async () => {
  const path = `${webhook.endpoint_path}/`;
  const { group } = routeOf("POST", path);
  expect((await cloud.request(group, "POST", path, { body: "{}" })).status).toBe(202);
  await cloud.deliverAll();
});

test("a webhook body that API Gateway passes in Base64 is verified and stored as the original bytes", async () => {
  const signed = await createWebhook(cloud.world, home, { description: "Signed", secret: "s3cret" });
  const bytes = Uint8Array.from([0x66, 0x3d, 0xff, 0x00, 0xe4]);
  const signature = createHmac("sha256", "s3cret").update(bytes).digest("hex");
  const headers = { "content-type": "application/octet-stream", "x-hub-signature-256": `sha256=${signature}` };
  const { status, body } = await post(signed.endpoint_path, bytes, headers);
  expect(status).toBe(202);
  expect(Uint8Array.from((await payloadOf(body.payload_id))!.body!)).toEqual(bytes);
  expect((await post(signed.endpoint_path, bytes.slice(1), headers)).status).toBe(403);
  await cloud.deliverAll();
});

test("the bundle of the function for tags gives the same answers as the local app", async () => {
  const created = await cloud.request("tags", "POST", "/api/tags", { body: '{"name":"Bug / Issue"}', headers: asOwner });
  expect(created.status).toBe(200);
  const { id } = (await created.json()) as { id: string };
  for (const path of [`/api/v1/tags/${id}`, "/api/v1/tags?limit=1&offset=0", "/api/tags/none", "/api/tags?limit=9999"]) {
    const answer = await cloud.request("tags", "GET", path, { headers: asOwner });
    const local = await cloud.world.call("GET", path, { token: home.owner.token });
    expect([answer.status, await answer.json()], path).toEqual([local.status, local.body]);
  }
});

test("characters that API Gateway decodes in a path stay part of their segment", async () => {
  const token = home.owner.token;
  for (const id of ["%00", "%20", "%23", "%0a", "x%5cy", "%25", "%22%3c"]) {
    const path = `/api/v1/tags/${id}`;
    const answer = await cloud.request("tags", "GET", path, { headers: asOwner });
    const local = await cloud.world.call("GET", path, { token });
    expect([answer.status, await answer.json()], path).toEqual([local.status, local.body]);
  }
});

test("a webhook stores empty and non-ASCII headers unchanged", async () => {
  const headers = { "content-type": "application/json", "x-empty": "", "x-word": 'größe "é" 100%' };
  const { status, body } = await post(webhook.endpoint_path, "{}", headers);
  expect([status, (await payloadOf(body.payload_id))!.headers]).toMatchObject([202, headers]);
  await cloud.deliverAll();
});

test("a function writes the log of a request before it answers, since it may be frozen afterwards", async () => {
  const tags = await cloud.lambda("tags");
  for (let n = 0; n < 20; n++) {
    const id = `frozen-${n}`;
    await cloud.request("tags", "GET", "/api/v1/tags", { headers: { "x-request-id": id } });
    expect(tags.logs.join("")).toContain(id);
  }
});

test("an outage of the queue does not affect the sender, and the notification is delivered afterwards", async () => {
  await cloud.sqs.stop();
  const { status, body } = await post(webhook.endpoint_path, '{"while":"away"}');
  expect(status).toBe(202);
  expect(await jobOf(body.payload_id)).toMatchObject({ status: "queued", sent_at: null });
  await cloud.sqs.start();
  const source = cloud.mapDeliveries();
  await (await cloud.lambda("schedule")).invoke(scheduleEvent("relay"));
  await vi.waitFor(() => expect(messagesOf(body.payload_id)).toHaveLength(1), { timeout: 20_000 });
  await source.stop();
});

test("a record that crashes its handler is the only failure in its batch", async () => {
  const good = await post(webhook.endpoint_path, '{"good":1}');
  const [bad] = await cloud.world.db
    .insert(jobs)
    .values({
      kind: "nobody.knows",
      payload: {},
      organization_id: home.organization_id,
      run_at: cloud.world.now(),
      max_attempts: 9,
    })
    .returning();
  const event = sqsEvent([{ id: bad!.id }, { id: (await jobOf(good.body.payload_id)).id }, "not json"]);
  const result = await cloud.consume(event);
  expect(result.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)).toEqual([
    event.Records[0]!.messageId,
    event.Records[2]!.messageId,
  ]);
  expect((await jobOf(good.body.payload_id)).status).toBe("done");
  await cloud.world.db.delete(jobs).where(eq(jobs.id, bad!.id));
  await cloud.deliverAll();
});

test("a notification to a failing host is retried on schedule, then dead and listed, then redriven", async () => {
  const { body } = await post(webhook.endpoint_path, '{"host":"down"}');
  await cloud.sqs.purge(QUEUE);
  await host.stop();
  const { id } = await jobOf(body.payload_id);
  const policy = RETRY_POLICIES["webhook.notify"];
  let elapsed = 0;
  for (let attempt = 1; attempt <= policy.attempts; attempt++) {
    expect(await cloud.consume(sqsEvent([{ id }]))).toEqual({ batchItemFailures: [] });
    const job = await jobOf(body.payload_id);
    expect(job).toMatchObject({ attempts: attempt, status: attempt < policy.attempts ? "queued" : "dead" });
    if (job.status === "dead") break;
    const waits = job.run_at.getTime() - cloud.world.now().getTime();
    // The delay varies by 10 % and counts from the start of the attempt.
    expect(waits).toBeGreaterThan(backoff(policy, attempt, () => 0) - 5_000);
    expect(waits).toBeLessThanOrEqual(backoff(policy, attempt, () => 1));
    expect(await cloud.consume(sqsEvent([{ id }])), "an early wake-up does nothing").toEqual({ batchItemFailures: [] });
    expect((await jobOf(body.payload_id)).attempts).toBe(attempt);
    cloud.elapse(waits + 1_000);
    elapsed += waits + 1_000;
  }
  expect((await listJobs(cloud.world.context(), "dead")).map((job) => job.id)).toEqual([id]);
  const gateway = await cloud.world.call("GET", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token });
  expect(gateway.body).toMatchObject({ connected: false, last_error: expect.stringContaining("ECONNREFUSED") });
  await host.start();
  // The clock returns to the host's time, because the host refuses signatures and tokens that were made with a wrong clock.
  cloud.elapse(-elapsed);
  expect(await redriveJobs(cloud.world.context())).toEqual([id]);
  expect(await cloud.consume(sqsEvent([{ id }]))).toEqual({ batchItemFailures: [] });
  expect(messagesOf(body.payload_id)).toHaveLength(1);
  await cloud.deliverAll();
});

test("a function compresses a long answer, which API Gateway gets in Base64, and answers 304 to its ETag", async () => {
  const document = await cloud.request("reference", "GET", "/openapi.json", { headers: { "accept-encoding": "gzip, br" } });
  expect(document.headers.get("content-encoding")).toBe("br");
  const text = brotliDecompressSync(Buffer.from(await document.arrayBuffer())).toString();
  expect(JSON.parse(text)).toMatchObject({ openapi: "3.1.0" });
  const tag = document.headers.get("etag")!;
  const again = await cloud.request("reference", "GET", "/openapi.json", { headers: { "if-none-match": tag } });
  expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag]);
});

test("a stream behind API Gateway waits for an event and ends after it, and its last event id resumes the stream", async () => {
  const path = `/api/v1/boards/${home.board_id}/memory`;
  const ask = (last: string) =>
    cloud.request("memory", "GET", `${path}/stream`, { headers: { ...asOwner, "last-event-id": last } });
  const write = async (content: string) =>
    (await cloud.world.call("POST", path, { token: home.owner.token, body: { content } })).body;
  const before = await write("before");
  const stored = await cloud.request("memory", "GET", `${path}/stream?since=${before.created_at}`, { headers: asOwner });
  expect(stored.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const [, id] = /\n\nid: ([\w-]+)\nretry: 2000\n\n$/.exec(await stored.text())!;
  const waiting = ask(id!);
  await pause(1_000);
  const entry = await write("Grüße");
  const text = await (await waiting).text();
  expect(parseEvents(text).map(({ data }) => data.memory)).toEqual([entry]);
  expect(text).toMatch(/\n\nid: [\w-]+\nretry: 2000\n\n$/);
});

test("the stream function sends events as they happen and ends at its limit, and a client that resumes misses nothing", async () => {
  const streams = await cloud.lambda("stream", { env: { STREAM_MAX_SECONDS: "4" } });
  const path = `/api/v1/boards/${home.board_id}/tasks`;
  const task = (await cloud.world.call("POST", path, { token: home.owner.token, body: { title: "Talk" } })).body;
  const comment = async (message: string) =>
    (await cloud.world.call("POST", `${path}/${task.id}/comments`, { token: home.owner.token, body: { message } })).body;
  const feed = "/api/activity/task-comments/stream";
  const follow = (onHead: () => void, last?: string) =>
    streams.stream(functionUrlEvent("GET", feed, { headers: { ...asOwner, ...(last ? { "last-event-id": last } : {}) } }), {
      onHead,
    });

  const opened = Promise.withResolvers<void>();
  const first = follow(() => opened.resolve());
  await opened.promise;
  await comment("one");
  const { head, body, error } = await first;
  expect([head.statusCode, head.headers["content-type"], error]).toEqual([200, "text/event-stream; charset=utf-8", null]);
  expect(parseEvents(body).map(({ event, data }) => [event, data.comment.message])).toEqual([["comment", "one"]]);
  expect(body).toMatch(/id: [\w-]+\nretry: 2000\n\n$/);
  const last = [...body.matchAll(/^id: (.*)$/gm)].at(-1)![1]!;

  await comment("while away");
  const second = await follow(() => {}, last);
  expect(parseEvents(second.body).map(({ data }) => data.comment.message)).toEqual(["while away"]);
});

test("the stream function answers other requests with the service's ordinary errors", async () => {
  const streams = await cloud.lambda("stream");
  const ask = async (method: string, url: string, headers: Record<string, string> = {}) => {
    const { head, body } = await streams.stream(functionUrlEvent(method, url, { headers }));
    return [head.statusCode, body];
  };
  expect(await ask("GET", "/api/activity/task-comments/stream")).toEqual([401, '{"detail":"Not authenticated"}']);
  expect(await ask("GET", "/api/activity/task-comments/stream?since=soon", asOwner)).toEqual([422, expect.any(String)]);
  expect(await ask("HEAD", "/api/v1/agents/stream", asOwner)).toEqual([200, ""]);
  expect(await ask("GET", "/api/v1/tags", asOwner)).toEqual([404, '{"detail":"Not Found"}']);
  // The log line may come after the answer. The earlier refusal had no credential, so only this one is counted.
  expect(await ask("GET", "/api/v1/agents/stream", { authorization: "Bearer wrong" })).toEqual([401, expect.any(String)]);
  await vi.waitFor(() => expect(metricsOf(streams)).toMatchObject([{ AuthFailures: 1 }]), { timeout: 30_000 });
  expect(await ask("POST", "/api/v1/agents/stream", asOwner)).toEqual([405, '{"detail":"Method Not Allowed"}']);
});

test("database connections that broke while the sandbox was frozen are replaced without an error", async () => {
  const ask = () => cloud.request("tags", "GET", "/api/v1/tags", { headers: asOwner });
  expect((await ask()).status).toBe(200);
  cloud.dropConnections();
  expect((await ask()).status).toBe(200);
  cloud.elapse(60_000);
  expect((await ask()).status).toBe(200);
  cloud.elapse(-60_000);
});

test("the consumer and the scheduler write their metrics when they end, with one line per set of dimensions", async () => {
  const [consumer, schedule] = [await cloud.lambda("deliveries"), await cloud.lambda("schedule")];
  await cloud.deliverAll();
  const before = [metricsOf(consumer).length, metricsOf(schedule).length];
  const first = await post(webhook.endpoint_path, '{"metric":1}');
  const second = await post(webhook.endpoint_path, '{"metric":2}');
  await schedule.invoke(scheduleEvent("relay"));
  for (const { body } of [first, second]) await cloud.consume(sqsEvent([{ id: (await jobOf(body.payload_id)).id }]));
  await cloud.deliverAll();

  const named = { service: "board-coordination", stage: "local" };
  const dimensionsOf = (line: { _aws: { CloudWatchMetrics: { Dimensions: string[][] }[] } }) =>
    line._aws.CloudWatchMetrics.map(({ Dimensions }) => Dimensions);
  const [age, ...more] = metricsOf(schedule).slice(before[1]);
  const ages = { JobAge: expect.any(Number), StreamHorizonAge: expect.any(Number) };
  expect([age, more]).toEqual([{ _aws: expect.anything(), ...named, ...ages }, []]);
  expect(dimensionsOf(age)).toEqual([[["service", "stage"]]]);
  const seconds = Object.keys(ages).map((Name) => ({ Name, Unit: "Seconds" }));
  expect(age._aws.CloudWatchMetrics[0].Metrics).toEqual(seconds);

  const attempt = { ...named, kind: "webhook.notify", outcome: "done", DeliveryAttempts: 1 };
  const lines = metricsOf(consumer).slice(before[0]);
  expect(lines.filter((line) => "IngestLag" in line)).toEqual(
    [first, second].map(() => ({ _aws: expect.anything(), ...named, IngestLag: expect.any(Number) })),
  );
  const attempts = lines.filter((line) => "DeliveryAttempts" in line);
  expect(attempts).toEqual([first, second].map(() => ({ _aws: expect.anything(), ...attempt })));
  expect(dimensionsOf(attempts[0])).toEqual([[["service", "stage", "kind", "outcome"]]]);
});

test("the migrate function makes an empty database ready", async () => {
  const DATABASE_URL = await cloud.emptyDatabase("fresh");
  const fallback = await cloud.lambda("fallback", { env: { DATABASE_URL } });
  expect(await fallback.invoke(apiGatewayEvent("GET", "/readyz"))).toMatchObject({ statusCode: 503, body: '{"ok":false}' });
  const migrate = await cloud.lambda("migrate", { env: { DATABASE_URL } });
  expect(await migrate.invoke({})).toEqual({ ok: true });
  expect(await migrate.invoke({}), "a second run changes nothing").toEqual({ ok: true });
  expect(await fallback.invoke(apiGatewayEvent("GET", "/readyz"))).toMatchObject({ statusCode: 200, body: '{"ok":true}' });
  expect(await fallback.invoke(apiGatewayEvent("GET", "/nowhere/"))).toMatchObject({
    statusCode: 404,
    body: '{"detail":"Not Found"}',
  });
});

test("a function with a missing setting does not load, and one line names the setting", async () => {
  await expect(cloud.lambda("tags", { env: { TOKEN_PEPPER: "" } })).rejects.toThrow("TOKEN_PEPPER is required");
});
