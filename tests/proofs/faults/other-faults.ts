/** Faults of all other systems that the service talks to. */
import { setTimeout as pause } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { nested } from "../load/hostile-host.ts";
import type { Fault } from "./database-faults.ts";

const AWAY_MS = 4_000;
const HOSTILE_MS = 3_000;
const DEPTH = 200_000;
const LARGE = 30_000_000;

export const otherFaults: Readonly<Record<string, Fault>> = {
  async "keys of the identity provider away, after they were read"({ keys }) {
    await keys.stop();
    await pause(AWAY_MS);
    await keys.start();
  },
  async "event bus away"({ events }) {
    await events.stop();
    await pause(AWAY_MS);
    await events.start();
  },
  async "event bus that loses its answers"({ events }) {
    events.lost_answers = 10;
    await pause(AWAY_MS);
    events.lost_answers = 0;
  },
  async "host restarted three times"({ host }) {
    for (let n = 0; n < 3; n++) {
      await host.restart();
      await pause(500);
    }
  },
  async "host away"({ host }) {
    await host.stop();
    await pause(AWAY_MS);
    await host.start();
  },
  async "host that sends hostile frames"({ host }) {
    await host.stop();
    const server = new WebSocketServer({ host: "127.0.0.1", port: host.port });
    server.on("connection", (socket) => {
      socket.on("error", () => {});
      for (const frame of ["{", "null", `{"type":"event","event":"connect.challenge","payload":${nested(DEPTH)}}`])
        socket.send(frame);
      socket.on("message", (data) => {
        const { id } = JSON.parse((data as Buffer).toString()) as { id: string };
        socket.send(`{"type":"res","id":"${id}","ok":false,"error":{"message":"no","details":${nested(DEPTH)}}}`);
        socket.send(`{"type":"event","event":"chat","payload":"${"x".repeat(LARGE)}"}`);
      });
    });
    await pause(HOSTILE_MS);
    for (const socket of server.clients) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
    await host.start();
  },
};
