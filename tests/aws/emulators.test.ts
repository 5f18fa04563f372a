/** Tests of the test support that other tests rely on. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { GetQueueAttributesCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { neonConfig, Pool } from "@neondatabase/serverless";
import type { APIGatewayProxyStructuredResultV2, SQSBatchResponse } from "aws-lambda";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { apiGatewayEvent, functionUrlEvent, scheduleEvent, sqsEvent, toResponse } from "../support/aws-events.ts";
import { startQueueMapping } from "./event-source-mapping.ts";
import { type Lambda, startLambda } from "../support/lambda-sandbox.ts";
import { type NeonProxy, startNeonProxy } from "../support/neon-proxy.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";
import { type Sqs, startSqs } from "../support/sqs.ts";

describe("PostgreSQL behind the Neon proxy", () => {
  let postgres: Postgres;
  let proxy: NeonProxy;

  beforeAll(async () => {
    postgres = await startPostgres();
    proxy = await startNeonProxy(postgres);
    neonConfig.wsProxy = () => proxy.address;
    neonConfig.useSecureWebSocket = false;
    neonConfig.pipelineTLS = false;
  });

  afterAll(async () => {
    await proxy?.stop();
    await postgres?.stop();
  });

  test("Neon's driver runs an interactive transaction through the proxy in a new database", async () => {
    const pool = new Pool({ connectionString: await postgres.createDatabase("one") });
    const client = await pool.connect();
    await client.query("begin");
    await client.query("create table things (name text)");
    await client.query("insert into things values ($1)", ["é"]);
    await client.query("commit");
    client.release();
    expect((await pool.query("select name from things")).rows).toEqual([{ name: "é" }]);
    await pool.end();
  });

  test("a copy of a template database has the template's rows", async () => {
    const template = new Pool({ connectionString: await postgres.createDatabase("template") });
    await template.query("create table things as select 7 as number");
    await template.end();
    // A template may have no open session, and the server notices a closed session a moment later.
    const url = await vi.waitFor(() => postgres.createDatabase("copy", "template"), { timeout: 30_000 });
    const copy = new Pool({ connectionString: url });
    expect((await copy.query("select number from things")).rows).toEqual([{ number: 7 }]);
    await copy.end();
  });

  test("the driver replaces connections that the proxy dropped", async () => {
    const pool = new Pool({ connectionString: await postgres.createDatabase("dropped"), max: 1 });
    const disconnected = new Promise((resolve) => pool.on("error", resolve));
    await pool.query("select 1");
    expect(proxy.connections).toBe(1);
    proxy.drop();
    await disconnected;
    expect((await pool.query("select 2 as two")).rows).toEqual([{ two: 2 }]);
    await pool.end();
  });
});

describe("the SQS emulator", () => {
  let sqs: Sqs;

  beforeAll(async () => {
    sqs = await startSqs();
  });
  afterAll(() => sqs.close());

  test("a message that fails at every receive becomes a dead letter, and the rest of its batch is deleted", async () => {
    await sqs.create("work", { visibility_seconds: 1, max_receives: 2, deadLetters: "dead" });
    for (const body of ["good", "bad"]) await sqs.send("work", body);
    const received: string[] = [];
    const source = startQueueMapping(sqs, "work", async ({ Records }) => {
      for (const { body, attributes } of Records) received.push(`${body} ${attributes.ApproximateReceiveCount}`);
      return {
        batchItemFailures: Records.filter(({ body }) => body === "bad").map(({ messageId }) => ({ itemIdentifier: messageId })),
      };
    });
    await vi.waitFor(async () => expect((await sqs.depth("dead")).ready).toBe(1), { timeout: 10_000 });
    await source.stop();
    expect(received.toSorted()).toEqual(["bad 1", "bad 2", "good 1"]);
    expect((await sqs.take("dead")).map((message) => message.Body)).toEqual(["bad"]);
    expect(await sqs.depth("work")).toEqual({ ready: 0, in_flight: 0, delayed: 0 });
  });

  test("the SQS emulator refuses clients during an outage and keeps its messages", async () => {
    const QueueUrl = await sqs.create("outage");
    await sqs.send("outage", "kept");
    await sqs.stop();
    await expect(sqs.client.send(new GetQueueAttributesCommand({ QueueUrl }))).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await sqs.start();
    expect((await sqs.take("outage")).map((message) => message.Body)).toEqual(["kept"]);
  });

  test("when a function reports an unknown message, the whole batch fails", async () => {
    const QueueUrl = await sqs.create("confused", { visibility_seconds: 1 });
    await sqs.send("confused", "x");
    let calls = 0;
    const source = startQueueMapping(sqs, "confused", async () => {
      calls += 1;
      return { batchItemFailures: [{ itemIdentifier: "of another batch" }] };
    });
    await vi.waitFor(() => expect(calls).toBe(2), { timeout: 10_000 });
    await source.stop();
    await sqs.purge("confused");
    expect((await sqs.client.send(new ReceiveMessageCommand({ QueueUrl }))).Messages).toBeUndefined();
  });
});

const HANDLERS = `
import { setTimeout as sleep } from "node:timers/promises";

export const echo = async (event, context) => ({
  statusCode: 201,
  headers: { "content-type": "application/json", "x-name": context.functionName },
  cookies: ["a=1", "b=2"],
  body: JSON.stringify({ event, color: process.env.COLOR, remaining: context.getRemainingTimeInMillis() }),
});

export const consume = async ({ Records }) => ({
  batchItemFailures: Records.filter(({ body }) => body === "bad").map(({ messageId }) => ({ itemIdentifier: messageId })),
});

export const stream = awslambda.streamifyResponse(async (event, output) => {
  const stream = awslambda.HttpResponseStream.from(output, { statusCode: 200, headers: { "content-type": "text/event-stream" } });
  for (const id of [1, 2]) {
    stream.write("id: " + id + "\\n\\n");
    await sleep(50);
  }
  if (event.rawPath === "/broken") throw new RangeError("half way");
  stream.end();
});

export const fail = async () => { throw new TypeError("no such thing"); };
export const crash = async () => process.exit(3);
export const hang = () => new Promise(() => setTimeout(() => {}, 60_000));
export const now = async () => Date.now();
export const callback = (event, context, done) => done(null, 1);
`;

describe("the Lambda sandbox", () => {
  let folder: string;
  const running: Lambda[] = [];

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "board-lambda-"));
    writeFileSync(path.join(folder, "bundle.mjs"), HANDLERS);
    writeFileSync(path.join(folder, "broken.mjs"), `throw new Error("DATABASE_URL is required");`);
  });
  afterAll(async () => {
    await Promise.all(running.map((lambda) => lambda.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(handler: string, options: Partial<Parameters<typeof startLambda>[0]> = {}): Promise<Lambda> {
    const lambda = await startLambda({ folder, handler, name: "tiny", ...options });
    running.push(lambda);
    return lambda;
  }

  test("a function receives an HTTP request as API Gateway sends it, and its answer is converted as API Gateway does", async () => {
    const lambda = await start("bundle.echo", { env: { COLOR: "red" } });
    expect(lambda.initMs).toBeGreaterThan(0);
    const event = apiGatewayEvent("POST", "/a%2Fb?x=1&x=2&y=%20", {
      headers: {
        "Content-Type": "application/json",
        "X-Many": ["1", "2"],
        Cookie: "s=1; t=2",
        "X-Forwarded-For": "198.51.100.1",
      },
      body: '{"é":1}',
      sourceIp: "203.0.113.9",
    });
    const response = toResponse(await lambda.invoke<APIGatewayProxyStructuredResultV2>(event));
    expect(response.status).toBe(201);
    expect(response.headers.get("x-name")).toBe("tiny");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    const { event: receivedEvent, color, remaining } = (await response.json()) as Record<string, unknown>;
    expect(color).toBe("red");
    expect(remaining).toBeGreaterThan(20_000);
    expect(receivedEvent).toMatchObject({
      version: "2.0",
      rawPath: "/a/b",
      rawQueryString: "x=1&x=2&y=%20",
      queryStringParameters: { x: "1,2", y: " " },
      cookies: ["s=1", "t=2"],
      headers: { "x-many": "1,2", "x-forwarded-for": "198.51.100.1, 203.0.113.9", "content-length": "8" },
      requestContext: { http: { method: "POST", sourceIp: "203.0.113.9" } },
      body: '{"é":1}',
      isBase64Encoded: false,
    });
    expect(apiGatewayEvent("POST", "/", { body: new Uint8Array([255]) })).toMatchObject({ body: "/w==", isBase64Encoded: true });
  });

  test("a consumer's partial batch failure is returned unchanged", async () => {
    const lambda = await start("bundle.consume");
    expect(await lambda.invoke<SQSBatchResponse>(sqsEvent(["good", "bad"]))).toEqual({
      batchItemFailures: [{ itemIdentifier: "m1" }],
    });
  });

  test("a streamed response arrives in pieces, and an error in the middle is reported", async () => {
    const lambda = await start("bundle.stream");
    const pieces: string[] = [];
    const whole = await lambda.stream(functionUrlEvent("GET", "/events"), { onChunk: (piece) => void pieces.push(piece) });
    expect(whole).toMatchObject({ head: { statusCode: 200, headers: { "content-type": "text/event-stream" } }, error: null });
    expect(pieces).toEqual(["id: 1\n\n", "id: 2\n\n"]);
    const broken = await lambda.stream(functionUrlEvent("GET", "/broken"));
    expect(broken).toMatchObject({ body: "id: 1\n\nid: 2\n\n", error: { type: "RangeError", message: "half way" } });
  });

  test("an error of a handler is returned with type and message, and the sandbox stays usable", async () => {
    const lambda = await start("bundle.fail");
    for (let attempt = 0; attempt < 2; attempt += 1)
      await expect(lambda.invoke(scheduleEvent("relay"))).rejects.toMatchObject({ type: "TypeError", message: "no such thing" });
    expect(lambda.logs.join("")).toContain("no such thing");
  });

  test("a function that cannot load does not start", async () => {
    await expect(start("broken.handler")).rejects.toThrow("DATABASE_URL is required");
    await expect(start("missing.handler")).rejects.toMatchObject({ type: "Runtime.ImportModuleError" });
    await expect(start("bundle.missing")).rejects.toMatchObject({ type: "Runtime.HandlerNotFound" });
    await expect(start("bundle.callback")).rejects.toMatchObject({ type: "Runtime.CallbackHandlerDeprecated" });
  });

  test("a crash, a kill or a timeout makes the invocation fail", async () => {
    const crashing = await start("bundle.crash");
    await expect(crashing.invoke({})).rejects.toMatchObject({
      type: "Runtime.ExitError",
      message: expect.stringContaining("status 3"),
    });
    await expect(crashing.invoke({})).rejects.toMatchObject({ type: "Runtime.ExitError" });
    const killed = await start("bundle.hang");
    const [answer] = await Promise.allSettled([killed.invoke({}), killed.stop("SIGKILL")]);
    expect(answer).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("SIGKILL") } });
    const slow = await start("bundle.hang", { timeoutMs: 100 });
    await expect(slow.invoke({})).rejects.toMatchObject({ type: "Sandbox.Timedout" });
  });

  test("a preloaded file can set the clock of a function", async () => {
    writeFileSync(path.join(folder, "clock.mjs"), `Date.now = () => 1_700_000_000_000;`);
    const lambda = await start("bundle.now", { nodeOptions: `--import=${path.join(folder, "clock.mjs")}` });
    expect(await lambda.invoke({})).toBe(1_700_000_000_000);
  });
});
