/** How the functions read an HTTP event and answer it. The bundles' tests send events to the real handlers. */
import { createBufferedHandler } from "@board/functions/lambda-http";
import { expect, test } from "vitest";
import { apiGatewayEvent } from "../support/aws-events.ts";

const received: Request[] = [];
let answer = () => new Response("{}", { headers: { "content-type": "application/json" } });
const handle = createBufferedHandler((request) => {
  received.push(request);
  return answer();
});
const send = async (...event: Parameters<typeof apiGatewayEvent>) => {
  const result = await handle(apiGatewayEvent(...event));
  return { result, request: received.pop() };
};

test("a function reads method, address, query, headers, cookies and body of an event", async () => {
  const headers = { "content-type": "application/json", "x-empty": "", "x-latin": "é", "x-wide": "→", cookie: "a=1; b=2" };
  const { request } = await send("POST", "/api/v1/a%20b?x=1&x=%2F", { body: '{"é":1}', headers });
  expect([request!.method, new URL(request!.url).pathname, new URL(request!.url).search]).toEqual([
    "POST",
    "/api/v1/a%20b",
    "?x=1&x=%2F",
  ]);
  expect(Object.fromEntries(request!.headers)).toMatchObject({
    ...headers,
    "x-wide": "%E2%86%92",
    "content-length": "8",
  });
  expect(await request!.text()).toBe('{"é":1}');
});

test.each(["GET", "HEAD"])("a %s request with a body is answered, and the body is ignored", async (method) => {
  const { result, request } = await send(method, "/api/v1/tags", { body: "{}" });
  expect([result.statusCode, request?.body]).toEqual([200, null]);
});

test("a method that no web request can hold reaches the app, so that its 405 has the headers of every answer", async () => {
  const { result, request } = await send("TRACE", "/health");
  expect([result.statusCode, request!.method]).toEqual([200, "X-TRACE"]);
});

test("a header with a line break reaches the app encoded", async () => {
  const { request } = await send("GET", "/", { headers: { "x-line": "a\nb" } });
  expect(request!.headers.get("x-line")).toBe("a%0Ab");
});

test("an answer's text is returned as it is, and compressed or binary bytes in Base64", async () => {
  const bytes = Uint8Array.from([0x1f, 0x8b, 0xff]);
  const answers: [string | Uint8Array<ArrayBuffer> | null, Record<string, string>, boolean][] = [
    ['{"ü":1}', { "content-type": "application/problem+json; charset=utf-8" }, false],
    ["ü", { "content-type": "text/css" }, false],
    [null, {}, false],
    [bytes, { "content-type": "application/json", "content-encoding": "gzip" }, true],
    [bytes, { "content-type": "image/png" }, true],
  ];
  for (const [body, headers, isBase64Encoded] of answers) {
    answer = () => new Response(body, { status: 201, headers: { ...headers, "set-cookie": "a=1" } });
    const { result } = await send("POST", "/");
    expect(result).toMatchObject({ statusCode: 201, headers, cookies: ["a=1"], isBase64Encoded });
    expect(Buffer.from(result.body!, isBase64Encoded ? "base64" : "utf8")).toEqual(
      Buffer.from(await new Response(body).arrayBuffer()),
    );
  }
});
