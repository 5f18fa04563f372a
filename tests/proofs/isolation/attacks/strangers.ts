/** Attacks by clients without a credential: pipelined requests, and many connections with a request each. */
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Attacker } from "../attacker.ts";
import type { AttackPlan } from "./all.ts";

const CONNECTIONS = 300;
const ENCODED = "Accept-Encoding: br";

const head = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, "Host: board", ...headers, "", ""].join("\r\n");

/** Sends all requests at once in one connection, and reads the answers until the connection ends or the time is over. */
async function pipeline(a: Attacker, text: string): Promise<void> {
  const { hostname, port } = new URL(a.url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (data) => {
    // A status line that is split over two chunks is not counted, which does not matter among thousands of answers.
    for (const [, status] of data.toString("latin1").matchAll(/HTTP\/1\.1 (\d{3})/g)) a.count(status!);
    received = "yes";
  });
  socket.on("error", () => {});
  socket.write(text);
  await Promise.race([new Promise((resolve) => socket.once("close", resolve)), pause(2_000)]);
  if (received === "") a.count("cut");
  socket.destroy();
}

/** Repeats pipelined requests in a few connections. */
const pipelined =
  (connections: number, text: (a: Attacker) => string): AttackPlan["run"] =>
  (a) =>
    a.forever(connections, () => pipeline(a, text(a)));

/** Sends each request in a new connection; 300 of them are always open. */
const unnamed =
  (next: (a: Attacker, n: number) => string): AttackPlan["run"] =>
  (a) =>
    a.forever(CONNECTIONS, (n) => pipeline(a, next(a, n)));

const KINDS: readonly ((a: Attacker, n: number) => string)[] = [
  () => head("GET", "/openapi.json", ENCODED, "Connection: close"),
  () => head("HEAD", "/openapi.json", "Connection: close"),
  () => head("OPTIONS", "/api/v1/boards", "Origin: https://a.example", "Access-Control-Request-Method: GET", "Connection: close"),
  (_, n) => head("GET", `/nothing/${n}`, "Connection: close"),
  () => head("GET", "/docs/swagger-ui-bundle.js", ENCODED, "Connection: close"),
  () => head("GET", "/", "Connection: close"),
  (_, n) => head("GET", `/assets/index-${String(n).padStart(8, "0")}.js`, "Connection: close"),
  () => `${head("POST", "/mcp", "Content-Length: 2", "Connection: close")}{}`,
  (_, n) => head("GET", "/api/v1/boards", `Authorization: Bearer guess-${n}`, "Connection: close"),
  (_, n) => head("GET", "/api/v1/agent/inbox", `X-Agent-Token: guess-${n}`, "Connection: close"),
  (a) => `${head("POST", a.own.open_path, "Content-Length: 2", "Connection: close")}{}`,
  () => head("GET", "/readyz", "Connection: close"),
];

export const strangerAttacks: Readonly<Record<string, AttackPlan>> = {
  "500 pipelined reads of the OpenAPI document in four connections": {
    run: pipelined(4, () => head("GET", "/openapi.json").repeat(500)),
  },
  "4,000 pipelined reads of the encoded OpenAPI document": {
    run: pipelined(1, () => head("GET", "/openapi.json", ENCODED).repeat(4_000)),
  },
  "500 pipelined reads of a file of the reference in two connections": {
    run: pipelined(2, () => head("GET", "/docs/swagger-ui-bundle.js", ENCODED).repeat(500)),
  },
  "5,000 pipelined posts of two bytes in three connections": {
    run: pipelined(3, (a) => `${head("POST", a.own.open_path, "Content-Length: 2")}{}`.repeat(5_000)),
  },
  "20,000 pipelined requests of an unknown path in three connections": {
    run: pipelined(3, () => head("GET", "/nothing").repeat(20_000)),
  },
  "300 connections that send one request each": {
    run: unnamed((a, n) => KINDS[n % KINDS.length]!(a, n)),
  },
  "300 connections that post two bytes each": {
    run: unnamed((a) => `${head("POST", a.own.open_path, "Content-Length: 2", "Connection: close")}{}`),
  },
  "300 connections that try a credential each": {
    run: unnamed((_, n) => head("GET", "/api/v1/boards", `Authorization: Bearer guess-${n}`, "Connection: close")),
  },
};
