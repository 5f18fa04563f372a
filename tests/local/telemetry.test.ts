import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { silentLog } from "@board/core/values/log";
import { getMetricsFromIterator, type PromHistogramData } from "prom2javascript";
import { afterAll, expect, test, vi } from "vitest";
import { createDurations, createMeter } from "../../packages/local/src/telemetry/instruments.ts";
import { openTelemetry } from "../../packages/local/src/telemetry/telemetry.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { freePort } from "../support/free-port.ts";
import { setup } from "../support/fixtures.ts";
import { type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { startServerProcess } from "../support/server-process.ts";
import { drawTrace } from "../support/trace-picture.ts";
import { createWebhook } from "../support/webhook.ts";

const WAIT = { timeout: 20_000, interval: 20 };
const HOUR_MS = 3_600_000;
/** Stores a trace as a picture, but only if `npm run pictures:traces` has started the tests. */
const savePicture = (name: string, svg: string) =>
  process.env["MODE"] === "pictures" && writeFileSync(path.resolve(import.meta.dirname, "../../docs/pictures", name), svg);

afterAll(cleanUpPrograms);
const shared = await setup(openServerWorld());
const host = await setup(startFakeGateway({ token: "test-token-123" }));
const collector = await setup(startOtlpReceiver());
const { world } = shared;

test("a process serves its metrics, and traces a webhook post from the request to the host's answer", async () => {
  const metrics_port = await freePort();
  const home = await world.tenant("home", host.url);
  const webhook = await createWebhook(world, home);
  const server = await startServerProcess({
    issuer: world.identities.issuer,
    environment: {
      DATABASE_URL: shared.url,
      METRICS_PORT: String(metrics_port),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    },
  });
  const answer = await fetch(server.url + webhook.endpoint_path, { method: "POST", body: '{"order":7}' });
  expect(answer.status).toBe(202);
  await vi.waitUntil(() => host.messages.some(({ message }) => message.includes('"order"')), WAIT);

  const scrape = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metrics_port}/metrics`)).text();
    return getMetricsFromIterator(text.split("\n")[Symbol.iterator]());
  };
  await vi.waitUntil(async () => "board_job_duration_seconds" in (await scrape()), WAIT);
  const metrics = await scrape();
  expect(metrics["http_server_request_duration_seconds"]!.type).toBe("histogram");
  const routes = metrics["http_server_request_duration_seconds"]!.data as PromHistogramData[];
  const labels = {
    http_request_method: "POST",
    http_route: "/api/v1/boards/{board_id}/webhooks/{webhook_id}",
    http_response_status_code: "202",
  };
  expect(routes).toContainEqual(expect.objectContaining({ labels, count: 1 }));
  const jobs = metrics["board_job_duration_seconds"]!.data as PromHistogramData[];
  expect(jobs.map((job) => job.labels)).toContainEqual({ board_job_kind: "webhook.notify", board_job_outcome: "done" });
  for (const name of ["board_ingest_lag_seconds", "board_jobs", "board_job_oldest_seconds", "board_streams"])
    expect(metrics[name]?.data.length, name).toBeGreaterThan(0);

  await server.stop();
  const find = (name: string) => collector.spans.find((span) => span.name === name);
  const request = find("POST /api/v1/boards/{board_id}/webhooks/{webhook_id}")!;
  const job = find("job webhook.notify")!;
  const call = find("host chat.send")!;
  expect(request).toMatchObject({ kind: "server", parent_id: "" });
  expect(job).toMatchObject({ kind: "consumer", trace_id: request.trace_id, parent_id: request.span_id });
  expect(call).toMatchObject({ kind: "client", trace_id: request.trace_id, parent_id: job.span_id });
  expect(request.resource).toMatchObject({ "service.name": "board", "deployment.environment.name": "test" });
  expect(collector.metrics).toContain("http.server.request.duration");
  expect(JSON.stringify(collector.spans)).not.toContain("test-token-123");
  savePicture("trace-of-a-webhook.svg", drawTrace(collector.spans.filter(({ trace_id }) => trace_id === request.trace_id)));
});

test("the runs of a task are spans of one trace, with their usage under OpenTelemetry's names for generative AI", async () => {
  const telemetry = await openTelemetry(
    { telemetry: { metrics_port: null, otlp_endpoint: collector.url }, host: "127.0.0.1" },
    crypto.randomUUID(),
    silentLog,
  );
  const home = await openPullBoard(world, "runs");
  const id = await home.addTask();
  const path = `/api/v1/agent/boards/${home.board_id}/tasks/${id}`;
  for (let turn = 1; turn <= 2; turn++) {
    const agent = home.worker.token;
    const entry = { key: `turn-${turn}`, model: "opus", input_tokens: 1_000 * turn, output_tokens: 200, task_id: id };
    await world.call("POST", "/api/v1/agent/tasks/next", { agent, body: {} });
    await world.call("POST", "/api/v1/agent/usage", { agent, body: { entries: [entry] } });
    await world.call("DELETE", `${path}/lease`, { agent });
  }
  const tick_at = new Date(Date.now() + HOUR_MS / 2);
  await telemetry.onTick(world.context(), { name: "relay", tick_at, every_ms: HOUR_MS });
  await telemetry.close();
  const runs = collector.spans.filter((span) => span.attributes["board.task.id"] === id);
  expect(runs.map(({ name, trace_id, attributes }) => [name, trace_id, attributes["gen_ai.usage.input_tokens"]])).toEqual([
    ["invoke_agent Worker", id.replaceAll("-", ""), 1_000],
    ["invoke_agent Worker", id.replaceAll("-", ""), 2_000],
  ]);
  const toUsage = ({ attributes }: ReceivedSpan) =>
    `${attributes["gen_ai.usage.input_tokens"]} + ${attributes["gen_ai.usage.output_tokens"]} tokens`;
  savePicture("trace-of-a-task.svg", drawTrace(runs, toUsage));
  expect(runs[0]!.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.request.model": "opus",
    "gen_ai.usage.output_tokens": 200,
  });
});

test("every metric of the Grafana dashboard is a metric of the service", () => {
  const file = path.resolve(import.meta.dirname, "../../deploy/grafana/board.json");
  const { panels } = JSON.parse(readFileSync(file, "utf8")) as { panels: { targets: { expr: string }[] }[] };
  const used = panels.flatMap(({ targets }) =>
    targets.flatMap(({ expr }) => expr.match(/\b(?:http|board|process|nodejs)_\w+(?=[{[])/g) ?? []),
  );
  const names = new Set(["board.streams", "board.jobs", "board.job.oldest", "process.memory.usage", "process.cpu.time"]);
  names.add("nodejs.eventloop.delay.max");
  const record = (name: string) => void names.add(name);
  const otel = { createCounter: record, createHistogram: record, createGauge: record } as unknown as Parameters<
    typeof createMeter
  >[0];
  createMeter(otel);
  createDurations(otel);
  const known = [...names].map((name) => name.replaceAll(".", "_"));
  const isKnown = (metric: string) => known.includes(metric.replace(/(_seconds|_bytes)?(_count|_bucket|_sum|_total)?$/, ""));
  expect(used.length).toBeGreaterThanOrEqual(20);
  expect(used.filter((metric) => !isKnown(metric))).toEqual([]);
});
