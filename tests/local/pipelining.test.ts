import { connect } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms, dataFolder, startProgram } from "../support/program.ts";
import { TEST_KEYS } from "../support/world.ts";

const settings = { PORT: "0", DATA_DIR: dataFolder(), LIMITS: "connection_waiting_requests=50", LOG_LEVEL: "warn" };
const program = startProgram("main", { ...settings, ...TEST_KEYS });
const [, url] = (await program.waitForOutput(/ready at (http:\S+)/)) as unknown as [string, string];
afterAll(cleanUpPrograms);

/** Sends a text in one connection and returns what arrives until the connection ends or `until` returns true. */
async function exchange(text: string, until: (received: string) => boolean = () => false): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.write(text);
  await new Promise<void>((resolve) => {
    socket.on("data", (data) => {
      received += data.toString("latin1");
      if (until(received)) resolve();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
  socket.destroy();
  return received;
}

const get = (path: string, ...headers: string[]) => [`GET ${path} HTTP/1.1`, "Host: board", ...headers, "", ""].join("\r\n");
const countAnswers = (text: string) => text.match(/HTTP\/1\.1 \d{3}/g)?.length ?? 0;

test("pipelined requests of a connection are answered in their order", async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `request-${n}`);
  // The first request takes longest, because its document has not been generated yet.
  const text = ids.map((id, n) => get(n === 0 ? "/openapi.json" : "/health", `X-Request-Id: ${id}`)).join("");
  const received = await exchange(text, (so_far) => countAnswers(so_far) === ids.length);
  expect(received.match(/(?<=x-request-id: )\S+/gi)).toEqual(ids);
});

test("a connection that sends too many requests before their answers is closed, and other connections are served", async () => {
  expect(countAnswers(await exchange(get("/openapi.json").repeat(100)))).toBeLessThanOrEqual(51);
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test("a request that is sent after the previous answer does not count as waiting", async () => {
  for (let n = 0; n < 60; n++) expect((await fetch(`${url}/health`)).status).toBe(200);
});

test("a client that leaves while its requests wait affects no other client", async () => {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: 20 }, () => connect(Number(port), hostname).on("error", () => {}));
  for (const socket of sockets) socket.write(get("/openapi.json").repeat(40));
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("data", resolve))));
  for (const socket of sockets) socket.resetAndDestroy();
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test("each encoding of a public file has a separate ETag, and a request with a current ETag gets 304", async () => {
  const read = (headers: Record<string, string>) => fetch(`${url}/docs/swagger-ui.css`, { headers });
  const plain = await read({ "accept-encoding": "identity" });
  const encoded = await exchange(get("/docs/swagger-ui.css", "Accept-Encoding: gzip", "Connection: close"));
  const body = Buffer.from(encoded.slice(encoded.indexOf("\r\n\r\n") + 4), "latin1");
  expect(gunzipSync(body).toString()).toBe(await plain.text());
  const tag = /^etag: (\S+)/im.exec(encoded)?.[1] ?? "";
  expect(tag).not.toBe(plain.headers.get("etag"));
  expect((await read({ "if-none-match": tag })).status).toBe(304);
  const head = await fetch(`${url}/docs/swagger-ui.css`, { method: "HEAD", headers: { "accept-encoding": "identity" } });
  expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, plain.headers.get("etag"), ""]);
});
