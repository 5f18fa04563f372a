import { createServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import type { Duplex } from "node:stream";
import { createHttpClient, type LocateHost, locatePublicHost } from "@board/core/http/https-client";
import { type FetchLimits, readBody, FetchError } from "@board/core/context/http-client";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeCertificate } from "../support/certificate.ts";
import { PRIVATE_HOSTS, REFUSED_ANSWERS, REFUSED_URLS } from "../support/refused-addresses.ts";

const HOST = "https://elsewhere.example";
const LIMITS: FetchLimits = { connect_ms: 2_000, total_ms: 4_000, max_bytes: 1_000 };
const certificate = makeCertificate("elsewhere.example");

/** Writes the answer to the next request directly to its connection. */
let answer: (socket: Duplex) => void;
let requests: { url: string; headers: Record<string, unknown> }[];
let connections: Set<Duplex>;

const toServer: LocateHost = async () => ({
  addresses: [{ address: "127.0.0.1", family: 4 }],
  port: (server.address() as AddressInfo).port,
});

const server = createServer(certificate, (request, response) => {
  requests.push({ url: request.url ?? "", headers: request.headers });
  answer(response.socket!);
});
server.on("secureConnection", (socket) => {
  connections.add(socket);
  socket.on("error", () => {}).once("close", () => connections.delete(socket));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const web = createHttpClient({ locate: toServer, ca: certificate.cert });

beforeEach(() => {
  requests = [];
  connections = new Set();
  answer = say(200, "hello");
});
afterEach(() => connections.forEach((socket) => socket.destroy()));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const say = (status: number, body: string, headers: Record<string, string | number> = {}) => {
  const lines = Object.entries({ "content-length": body.length, connection: "close", ...headers });
  const head = [`HTTP/1.1 ${status} Text`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  return (socket: Duplex) => void socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
};
const read = async (limits: Partial<FetchLimits> = {}, from = web): Promise<string> =>
  Buffer.from(await readBody(await from.get(`${HOST}/page`, { ...LIMITS, ...limits }))).toString();
const problemOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => "nothing went wrong",
    (reason: unknown) => reason,
  );
  if (!(error instanceof FetchError)) throw error;
  // The message must not reveal what a name resolves to.
  expect(error.message).not.toMatch(/127\.0\.0\.1:|ECONN|ENOTFOUND|certificate|socket/);
  return error.problem;
};
const allClosed = () => vi.waitFor(() => expect(connections.size).toBe(0), { timeout: 30_000 });

test.each(REFUSED_URLS)("the URL %j is refused: only https without credentials is fetched", async (url) => {
  expect(await problemOf(web.get(url, LIMITS))).toBe("refused_address");
  expect(requests).toEqual([]);
});

test.each(PRIVATE_HOSTS)("the host %s is refused since it is not public", async (host) => {
  expect(await problemOf(createHttpClient().get(`https://${host}/latest/meta-data`, LIMITS))).toBe("refused_address");
});

test.each(REFUSED_ANSWERS)("a host name is refused when it resolves to %s", async (_what, addresses) => {
  const resolve = async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const refusing = createHttpClient({ locate: locatePublicHost(resolve) });
  expect(await problemOf(refusing.get(HOST, LIMITS))).toBe("refused_address");
});

test("every public address of a host name is used, with the port of the URL", async () => {
  const resolve = async () => [
    { address: "8.8.8.8", family: 4 },
    { address: "2606:4700::1111", family: 6 },
  ];
  expect(await locatePublicHost(resolve)(new URL(`${HOST}:8443`))).toEqual({ addresses: await resolve(), port: 8_443 });
  expect((await locatePublicHost(resolve)(new URL(HOST))).port).toBe(443);
});

test("a host name is resolved once, and the connection goes to the resolved address", async () => {
  const resolvable = ["127.0.0.1", "127.0.0.2"];
  const lookups: string[] = [];
  const locate: LocateHost = async (url) => {
    lookups.push(url.hostname);
    return { ...(await toServer(url)), addresses: [{ address: resolvable.shift()!, family: 4 }] };
  };
  expect(await read({}, createHttpClient({ locate, ca: certificate.cert }))).toBe("hello");
  expect(lookups).toEqual(["elsewhere.example"]);
});

test("a host name that does not resolve is unreachable", async () => {
  const locate = async () => Promise.reject(new Error("getaddrinfo ENOTFOUND 127.0.0.1"));
  expect(await problemOf(createHttpClient({ locate }).get(HOST, LIMITS))).toBe("unreachable");
});

test("a request carries the fixed headers and nothing about the service", async () => {
  expect(await read()).toBe("hello");
  expect(requests).toEqual([
    {
      url: "/page",
      headers: {
        host: "elsewhere.example",
        accept: "*/*",
        "accept-encoding": "identity",
        "user-agent": "board-coordination",
        connection: "close",
      },
    },
  ]);
});

test.each([301, 302, 303, 307, 308])("the redirect %i is returned as an answer and not followed", async (status) => {
  answer = say(status, "", { location: `${HOST}/other` });
  const redirect = await web.get(`${HOST}/page`, LIMITS);
  expect([redirect.status, redirect.headers["location"]]).toEqual([status, `${HOST}/other`]);
  await redirect.body.return();
  expect(requests).toHaveLength(1);
});

test("the certificate must be trusted and match the requested host name", async () => {
  expect(await problemOf(read({}, createHttpClient({ locate: toServer })))).toBe("unreachable");
  const other = createHttpClient({ locate: toServer, ca: certificate.cert });
  expect(await problemOf(other.get("https://other.example", LIMITS))).toBe("unreachable");
  expect(requests).toEqual([]);
});

test("a name lookup that never ends fails after the connect timeout", async () => {
  const locate: LocateHost = () => new Promise(() => {});
  expect(await problemOf(createHttpClient({ locate }).get(HOST, { ...LIMITS, connect_ms: 50 }))).toBe("timeout");
});

test("a host that accepts a connection but stays silent fails after the connect timeout", async () => {
  const silent = createTcpServer();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  const closed = new Promise<void>((resolve) => silent.on("connection", (socket) => socket.resume().once("close", resolve)));
  const locate: LocateHost = async (url) => ({ ...(await toServer(url)), port });
  expect(await problemOf(createHttpClient({ locate }).get(HOST, { ...LIMITS, connect_ms: 50 }))).toBe("timeout");
  await closed;
  await new Promise((resolve) => silent.close(resolve));
});

test("a host that never answers fails after the total timeout", async () => {
  answer = () => {};
  expect(await problemOf(read({ total_ms: 150 }))).toBe("timeout");
  await allClosed();
});

test("a body that trickles fails after the total timeout", async () => {
  answer = (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n");
    const timer = setInterval(() => socket.write("x"), 10);
    socket.once("close", () => clearInterval(timer));
  };
  expect(await problemOf(read({ total_ms: 200 }))).toBe("timeout");
  await allClosed();
});

test("a body larger than the limit is not read to its end, with or without Content-Length", async () => {
  answer = say(200, "x".repeat(1_001));
  expect(await problemOf(read())).toBe("too_large");
  answer = (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const more = () => void (socket.destroyed || socket.write("x".repeat(100), () => setImmediate(more)));
    more();
  };
  expect(await problemOf(read())).toBe("too_large");
  await allClosed();
  answer = say(200, "x".repeat(1_000));
  expect(await read()).toHaveLength(1_000);
});

test("a body shorter than its Content-Length or one that breaks off is an error", async () => {
  answer = say(200, "half of it", { "content-length": 100 });
  expect(await problemOf(read())).toBe("unreachable");
  answer = (socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", () => socket.destroy());
  expect(await problemOf(read())).toBe("unreachable");
});

test("bytes after the end of a body are ignored", async () => {
  answer = say(200, "hello and more", { "content-length": 5 });
  expect(await read()).toBe("hello");
});

test.each([
  ["is not HTTP", "220 mail.example ESMTP\r\n"],
  ["changes the protocol", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"],
  ["has oversized headers", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(100_000)}\r\n\r\n`],
  ["is empty", ""],
])("an answer that %s is treated as unreachable", async (_what, text) => {
  answer = (socket) => void socket.end(text);
  expect(await problemOf(read())).toBe("unreachable");
  await allClosed();
});

test("abandoning a body before or while reading it closes the connection", async () => {
  answer = (socket) => void socket.write("HTTP/1.1 404 Not Found\r\ncontent-length: 500\r\n\r\nsome");
  const untouched = await web.get(`${HOST}/page`, LIMITS);
  await untouched.body.return();
  await allClosed();
  const partlyRead = await web.get(`${HOST}/page`, LIMITS);
  for await (const part of partlyRead.body) {
    expect(Buffer.from(part).toString()).toBe("some");
    break;
  }
  await allClosed();
});

test("the connection of an unread body is closed after the total timeout", async () => {
  answer = (socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nsome");
  await web.get(`${HOST}/page`, { ...LIMITS, total_ms: 200 });
  expect(connections.size).toBe(1);
  await allClosed();
});
