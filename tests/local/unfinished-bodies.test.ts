import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { call } from "../support/http.ts";
import { cleanUpPrograms, dataFolder, readToken, startProgram } from "../support/program.ts";

afterEach(cleanUpPrograms);

const MEGABYTE = 1_048_576;

async function start(environment: Record<string, string> = {}) {
  const program = startProgram("main", {
    DATA_DIR: dataFolder(),
    PORT: "0",
    LOG_LEVEL: "info",
    WEBHOOK_RATE_PER_MINUTE: "0",
    ...environment,
  });
  const [, url] = await program.waitForOutput(/ready at (http:\S+)/);
  const token = await readToken(program);
  const create = async (at: string, body: object) =>
    (await call((target, init) => fetch(url + target, init), "POST", at, { token, body })).body;
  const gateway = await create("/api/v1/gateways", { name: "Host", url: "ws://127.0.0.1:9", workspace_root: "/srv" });
  const board = await create("/api/v1/boards", { name: "Shop", description: "A shop", gateway_id: gateway.id });
  const webhook = await create(`/api/v1/boards/${board.id}/webhooks`, { description: "Look into it" });
  return { program, port: Number(new URL(url!).port), url: url!, webhook: webhook.endpoint_path as string };
}
type Service = Awaited<ReturnType<typeof start>>;

interface Sender {
  socket: Socket;
  /** What the service has answered so far. */
  answer(): string;
  closed: Promise<unknown>;
}

/** Opens a connection from an address of loopback and sends a text on it. */
async function send({ port }: Service, text: string, localAddress = "127.0.0.1"): Promise<Sender> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  let answer = "";
  socket.setEncoding("utf8").on("data", (part: string) => (answer += part));
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await Promise.race([once(socket, "connect"), closed]);
  socket.write(text);
  return { socket, answer: () => answer, closed };
}

const head = (path: string, length = MEGABYTE) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
const UNFINISHED = "x".repeat(MEGABYTE - 1);

const post = ({ url, webhook }: Service, body = "{}") => fetch(url + webhook, { method: "POST", body });

/** Counts the connections by the status of their answer, and those without an answer as "open". */
function tally(senders: Sender[]): Record<string, number> {
  const statuses = senders.map((sender) => /^HTTP\/1\.1 (\d+)/.exec(sender.answer())?.[1] ?? "open");
  return Object.fromEntries(
    Map.groupBy(statuses, (status) => status)
      .entries()
      .map(([status, all]) => [status, all.length]),
  );
}

test("unfinished posts of one address take no more memory than its limit, and further posts of any address are accepted", async () => {
  const service = await start({ LIMITS: `request_body_bytes_per_address=${8 * MEGABYTE}` });
  const senders: Sender[] = [];
  for (let number = 0; number < 60; number++) senders.push(await send(service, head(service.webhook) + UNFINISHED, "127.0.0.2"));
  // Of 60 bodies of almost a megabyte, eight fit.
  await vi.waitUntil(() => (tally(senders)["429"] ?? 0) >= 52, { timeout: 20_000 });
  expect(tally(senders)).toEqual({ 429: 52, open: 8 });
  expect(senders.slice(-8).every((sender) => sender.answer() === "")).toBe(true);
  await Promise.all(senders.slice(0, 52).map(({ closed }) => closed));
  expect(senders[0]!.answer()).toMatch(/retry-after: 5/i);
  expect(senders[0]!.answer()).toContain("Too many request bodies from this address are being received.");

  expect((await post(service)).status).toBe(202);
  const own = await send(service, `${head(service.webhook, 2)}{}`, "127.0.0.2");
  await vi.waitUntil(() => own.answer() !== "", { timeout: 10_000 });
  expect(tally([own])).toEqual({ 202: 1 });
});

test("unfinished posts of many addresses take no more memory than the process's limit, and a finished post is accepted", async () => {
  const service = await start({ LIMITS: `request_body_bytes=${8 * MEGABYTE}` });
  const senders: Sender[] = [];
  for (let number = 0; number < 40; number++)
    senders.push(await send(service, head(service.webhook) + UNFINISHED, `127.0.0.${2 + (number % 20)}`));
  await vi.waitUntil(() => (tally(senders)["503"] ?? 0) >= 32, { timeout: 20_000 });
  expect(tally(senders)).toEqual({ 503: 32, open: 8 });
  expect((await post(service, "x".repeat(MEGABYTE - 1))).status).toBe(202);
});

test("a body in chunks of one byte is accepted", async () => {
  const service = await start();
  const chunks = Array.from({ length: 50_000 }, (_, index) => `1\r\n${index % 10}\r\n`).join("");
  const text = `POST ${service.webhook} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
  const sender = await send(service, text);
  await vi.waitUntil(() => sender.answer() !== "", { timeout: 20_000 });
  expect(tally([sender])).toEqual({ 202: 1 });
});

test("a body that does not arrive in time gets 408 and its connection is closed", async () => {
  const service = await start({ LIMITS: "request_body_seconds=2,request_body_bytes_per_second=0" });
  const sender = await send(service, `${head(service.webhook)}x`);
  const drip = setInterval(() => sender.socket.write("x"), 100);
  await sender.closed;
  clearInterval(drip);
  expect(tally([sender])).toEqual({ 408: 1 });
  expect(sender.answer()).toContain("The request body did not arrive in time.");
});

test("a body that stops arriving gets 408 long before the time limit of a body", async () => {
  const service = await start({ LIMITS: "request_body_seconds=3600" });
  const sender = await send(service, head(service.webhook) + UNFINISHED);
  await sender.closed;
  expect(tally([sender])).toEqual({ 408: 1 });
});

test("a post to an unknown webhook is answered before its body arrives", async () => {
  const service = await start();
  const sender = await send(service, head(service.webhook.slice(0, -36) + crypto.randomUUID()));
  await vi.waitUntil(() => sender.answer() !== "", { timeout: 10_000 });
  expect(tally([sender])).toEqual({ 404: 1 });
});

test("a client that leaves in the middle of its body is not an error of the service", async () => {
  const service = await start();
  const sender = await send(service, `${head(service.webhook)}${UNFINISHED}`);
  await vi.waitUntil(() => sender.socket.writableLength === 0, { timeout: 10_000 });
  sender.socket.destroy();
  await vi.waitUntil(() => service.program.stdout.includes('"http.request"'), { timeout: 10_000 });
  expect(service.program.stdout).toMatch(/"status":400/);
  expect(service.program.stdout).not.toContain('"unhandled"');
});

test("an address has a limited number of connections, and other addresses can still connect", async () => {
  const service = await start({ LIMITS: "max_connections_per_address=5,max_connections=20" });
  const senders: Sender[] = [];
  for (let number = 0; number < 12; number++) senders.push(await send(service, "", "127.0.0.3"));
  await Promise.all(senders.slice(5).map(({ closed }) => closed));
  expect(tally(senders)).toEqual({ 429: 7, open: 5 });
  expect((await post(service)).status).toBe(202);
});

test("connections of a trusted proxy are not limited by address", async () => {
  const service = await start({ LIMITS: "max_connections_per_address=5", TRUSTED_PROXIES: "127.0.0.3" });
  const senders: Sender[] = [];
  for (let number = 0; number < 12; number++)
    senders.push(await send(service, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n", "127.0.0.3"));
  await vi.waitUntil(() => senders.every((sender) => sender.answer() !== ""), { timeout: 10_000 });
  expect(tally(senders)).toEqual({ 200: 12 });
});

test("a connection without a request is closed", async () => {
  const service = await start();
  const sender = await send(service, "POST /api/v1/boards HTTP/1.1\r\n");
  await sender.closed;
  expect(tally([sender])).toEqual({ 408: 1 });
});
