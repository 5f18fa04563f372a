/** Attacks by connections: many, unfinished, slow, or never read. */
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Attacker } from "../attacker.ts";
import type { AttackPlan } from "./all.ts";
import { storePayloads } from "./requests.ts";

const STREAMS = 200;
const FOLLOWED_BOARDS = 60;
const FOLLOWERS = 4;
const UNFINISHED = 580;
const UNFINISHED_BYTES = 990_000;
const SLOW_CLIENTS = 300;
const PIPELINED = 2_000;

/** Opens a connection and counts the status line of its first answer. */
function open(a: Attacker, text: string): Socket {
  const { hostname, port } = new URL(a.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {}).on("close", () => a.count("closed"));
  socket.once("data", (data) => a.count(data.toString("latin1").split(" ", 2)[1] ?? "?"));
  socket.write(text);
  return socket;
}

const request = (a: Attacker, method: string, path: string, headers: string[] = [], token = a.own.token) =>
  [`${method} ${path} HTTP/1.1`, "Host: board", `Authorization: Bearer ${token}`, ...headers, "", ""].join("\r\n");

export const socketAttacks: Readonly<Record<string, AttackPlan>> = {
  "200 streams that stay open": {
    async run(a) {
      const paths = ["tasks/stream", "memory/stream", "approvals/stream"].map((end) => `/api/v1/boards/${a.own.board_id}/${end}`);
      for (let n = 0; n < STREAMS; n++) open(a, request(a, "GET", paths[n % paths.length]!)).resume();
      const create = { body: { title: "Seen by 200 streams" } };
      await a.forever(2, () => a.call("POST", `/api/v1/boards/${a.own.board_id}/tasks`, create));
    },
  },
  "as many streams as an organization may hold, each of other boards": {
    seconds: 10,
    embedded_seconds: 8,
    async run(a) {
      const create = async (n: number) => {
        const board = { name: `Board ${n}`, description: "Followed", gateway_id: a.own.gateway_id };
        return a.create("/api/v1/boards", board);
      };
      const boards = await Promise.all(Array.from({ length: FOLLOWED_BOARDS }, (_, n) => create(n)));
      const paths = boards.flatMap((id) => ["tasks", "memory", "approvals"].map((kind) => `/api/v1/boards/${id}/${kind}/stream`));
      const agents = [];
      for (let n = 0; n < FOLLOWERS; n++) {
        const { text } = await a.call("POST", "/api/v1/agents", { body: { name: `Follower ${n}`, board_id: a.own.board_id } });
        agents.push((JSON.parse(text) as { auth_token: string }).auth_token);
      }
      // The person's streams follow many boards. The agents' streams follow one board, with a parameter that the service ignores.
      for (const path of paths) open(a, request(a, "GET", path)).resume();
      for (const [number, token] of agents.entries())
        for (let n = 0; n < STREAMS; n++)
          open(
            a,
            request(a, "GET", `/api/v1/boards/${a.own.board_id}/memory/stream?ignored=${number * STREAMS + n}`, [], token),
          ).resume();
      await a.forever(2, (n) =>
        a.call("POST", `/api/v1/boards/${boards[n % boards.length]}/memory`, { body: { content: "Seen" } }),
      );
    },
  },
  "streams that are opened and left at once": {
    run: (a) =>
      a.forever(8, async () => {
        const socket = open(a, request(a, "GET", `/api/v1/boards/${a.own.board_id}/tasks/stream`));
        await pause(50);
        socket.destroy();
      }),
  },
  "580 posts of which the last byte never arrives": {
    seconds: 8,
    async run(a) {
      const body = "u".repeat(UNFINISHED_BYTES);
      for (let n = 0; n < UNFINISHED; n++) {
        open(a, request(a, "POST", a.own.open_path, [`Content-Length: ${UNFINISHED_BYTES + 1}`])).write(body);
        await pause(5);
      }
    },
  },
  "300 clients that send their headers byte by byte": {
    async run(a) {
      const sockets = Array.from({ length: SLOW_CLIENTS }, () => open(a, "GET /api/v1/boards HTTP/1.1\r\nX-Slow: "));
      await a.forever(1, async () => {
        for (const socket of sockets) if (socket.writable) socket.write("x");
        await pause(500);
      });
    },
  },
  "large answers that are never read": {
    seconds: 8,
    async run(a) {
      const path = await storePayloads(a);
      for (let n = 0; n < SLOW_CLIENTS; n++) {
        open(a, request(a, "GET", path)).pause();
        await pause(10);
      }
    },
  },
  "2,000 requests in one connection that is never read": {
    run: (a) =>
      a.forever(2, async () => {
        const socket = open(a, request(a, "GET", "/api/v1/boards").repeat(PIPELINED));
        socket.pause();
        await pause(2_000);
        socket.destroy();
      }),
  },
};
