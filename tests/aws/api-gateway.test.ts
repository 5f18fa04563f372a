import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { afterEach, expect, test } from "vitest";
import { apiGateway } from "../support/api-gateway.ts";
import { LambdaError, type StreamListeners } from "../support/lambda-sandbox.ts";
import { serve } from "../support/serve.ts";

/** The events that functions received, newest last. */
const invocations: { name: string; event: APIGatewayProxyEventV2 }[] = [];
let answer: () => APIGatewayProxyStructuredResultV2 = () => ({ statusCode: 200, body: "{}" });
let follow: (listeners: StreamListeners, signal: AbortSignal) => Promise<void> = async () => {};

const send = apiGateway(
  {
    async invoke(name, event) {
      invocations.push({ name, event });
      return answer();
    },
    async stream(event, listeners, signal) {
      invocations.push({ name: "stream", event });
      const head = { statusCode: 200, headers: { "content-type": "text/event-stream" }, cookies: [] };
      listeners.onHead?.(head);
      await follow(listeners, signal);
      return { head, body: "", error: null };
    },
  },
  { sourceIp: () => "198.51.100.7", streams: true },
);
const ask = (method: string, target: string, init: RequestInit = {}) =>
  send(new Request(`http://any${target}`, { method, ...init }));

afterEach(() => {
  invocations.length = 0;
  answer = () => ({ statusCode: 200, body: "{}" });
});

test.each([
  ["GET", "/api/v1/tags", "tags", "ANY /api/v1/tags"],
  ["GET", "/api/v1/boards/b/tasks/t/comments", "tasks", "ANY /api/v1/boards/{board_id}/tasks/{proxy+}"],
  ["POST", "/api/v1/boards/b/webhooks/w", "ingest", "POST /api/v1/boards/{board_id}/webhooks/{webhook_id}"],
  ["GET", "/api/v1/boards/b/webhooks/w", "webhooks", "ANY /api/v1/boards/{board_id}/webhooks/{proxy+}"],
  ["GET", "/api/v1/tags/", "fallback", "$default"],
  ["GET", "/api/v1/boards//tasks", "boards", "ANY /api/v1/boards/{proxy+}"],
  ["HEAD", "/openapi.json", "fallback", "$default"],
])("API Gateway sends %s %s to the function %s by its most specific route", async (method, path, name, key) => {
  await ask(method, path);
  expect(invocations.map((invocation) => [invocation.name, invocation.event.routeKey])).toEqual([[name, key]]);
});

test("API Gateway passes every part of a request to the function", async () => {
  const server = await serve(send);
  const headers = { cookie: "a=1; b=2", "content-type": "application/json" };
  await fetch(`${server.url}/api/v1/tags?x=1&x=2`, { method: "POST", headers, body: '{"name":"é"}' });
  await server.close();
  expect(invocations[0]!.event).toMatchObject({
    rawPath: "/api/v1/tags",
    rawQueryString: "x=1&x=2",
    queryStringParameters: { x: "1,2" },
    cookies: ["a=1", "b=2"],
    headers: { "content-length": "13", "x-forwarded-for": "198.51.100.7" },
    requestContext: { http: { method: "POST", sourceIp: "198.51.100.7" } },
    body: '{"name":"é"}',
    isBase64Encoded: false,
  });
});

test.each([
  ["application/octet-stream", Buffer.from("text")],
  ["application/json", Buffer.from([0x22, 0xff, 0x22])],
])("API Gateway passes a binary body in Base64: %s", async (type, body) => {
  await ask("POST", "/api/v1/tags", { headers: { "content-type": type }, body });
  expect(invocations[0]!.event).toMatchObject({ body: body.toString("base64"), isBase64Encoded: true });
});

test("API Gateway returns the status, headers, cookies and bytes of a function's answer", async () => {
  const bytes = Buffer.from([0, 0xff]);
  answer = () => ({
    statusCode: 201,
    headers: { "x-own": "1" },
    cookies: ["a=1", "b=2"],
    body: bytes.toString("base64"),
    isBase64Encoded: true,
  });
  const response = await ask("GET", "/docs/logo");
  expect([response.status, response.headers.get("x-own"), response.headers.getSetCookie()]).toEqual([201, "1", ["a=1", "b=2"]]);
  expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
});

test.each([
  [new LambdaError("TypeError", "secret"), 500, "Internal Server Error"],
  [new LambdaError("Sandbox.Timedout", "Task timed out"), 503, "Service Unavailable"],
])("API Gateway answers for a failed function without its error message: %s", async (error, status, message) => {
  answer = () => {
    throw error;
  };
  const response = await ask("GET", "/api/v1/tags");
  expect([response.status, await response.json()]).toEqual([status, { message }]);
});

test("API Gateway refuses bodies above the limits of API Gateway and Lambda", async () => {
  const post = (bytes: number) => ask("POST", "/api/v1/tags", { body: Buffer.alloc(bytes) });
  expect([(await post(11 * 1024 ** 2)).status, (await post(5 * 1024 ** 2)).status, invocations]).toEqual([413, 413, []]);
  answer = () => ({ statusCode: 200, body: "x".repeat(7 * 1024 ** 2) });
  expect((await ask("GET", "/api/v1/tags")).status).toBe(500);
});

test("a stream arrives in pieces from its own function, which is notified when the client disconnects", async () => {
  const disconnected = Promise.withResolvers<void>();
  follow = async ({ onChunk }, signal) => {
    onChunk?.("data: 1\n\n");
    signal.addEventListener("abort", () => disconnected.resolve());
    await disconnected.promise;
  };
  const response = await ask("GET", "/api/v1/agents/stream");
  const reader = response.body!.getReader();
  expect(Buffer.from((await reader.read()).value!).toString()).toBe("data: 1\n\n");
  await reader.cancel();
  await disconnected.promise;
  expect(invocations.map(({ name }) => name)).toEqual(["stream"]);
});
