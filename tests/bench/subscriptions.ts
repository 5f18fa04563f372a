import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { startReceiver } from "../support/receiver.ts";
import type { BenchEnvironment } from "./environment.ts";
import { round, type Row } from "./row.ts";

const RECEIVERS = 3;
const CHANGES = 200;
const APART_MS = 50;
const ROUNDS = 3;
const MAX_WAIT_MS = 30_000;

/** The time from a change to its message, while another receiver of the board accepts connections and never answers. */
export async function benchSubscriptions({ api, board, waitForJobs }: BenchEnvironment): Promise<Row[]> {
  const receiver = await startReceiver();
  const dead = await startSilentServer();
  const path = `/api/v1/boards/${board.id}/subscriptions`;
  const subscribe = (url: string) => api("POST", path, { url, event_types: ["task.created"] });
  for (let n = 0; n < RECEIVERS; n++) await subscribe(`${receiver.url}?${n}`);
  const received: { task_id: string; at: number }[] = [];
  receiver.answer = (_request, response) => {
    received.push({ task_id: receiver.messages.at(-1)!.json.data.subject.id, at: performance.now() });
    response.writeHead(204).end();
  };
  /** Returns the milliseconds from the request of each change to each of its messages. */
  const measure = async (): Promise<number[]> => {
    const startedAt = new Map<string, number>();
    received.length = 0;
    const change = async () => {
      const started = performance.now();
      startedAt.set((await api("POST", `/api/v1/boards/${board.id}/tasks`, { title: "Changed" })).id, started);
    };
    const changes: Promise<void>[] = [];
    for (let n = 0; n < CHANGES; n++) {
      changes.push(change());
      await pause(APART_MS);
    }
    await Promise.all(changes);
    const deadline = performance.now() + MAX_WAIT_MS;
    while (received.length < RECEIVERS * CHANGES && performance.now() < deadline) await pause(100);
    return received.flatMap(({ task_id, at }) => at - (startedAt.get(task_id) ?? Number.NaN));
  };
  const waits = { without: [] as number[], with: [] as number[] };
  for (let round = 0; round <= ROUNDS; round++) {
    const without = await measure();
    const { id } = await subscribe(dead.url);
    const withDead = await measure();
    await api("DELETE", `${path}/${id}`);
    // The first round warms the service up.
    if (round === 0) continue;
    waits.without.push(...without);
    waits.with.push(...withDead);
  }
  await waitForJobs();
  await receiver.close();
  dead.close();
  const expected = ROUNDS * CHANGES * RECEIVERS;
  const p99 = (list: number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length * 0.99)]!;
  const show = (list: number[]) =>
    `p99 ${round(p99(list))} ms${list.length < expected ? `, ${expected - list.length} NOT RECEIVED` : ""}`;
  return [
    {
      what: "change to message at a receiver, 20/s, while another receiver is dead",
      figure: show(waits.with),
      target: "ratio 1.2",
      baseline: `without it ${show(waits.without)}`,
      ratio: `${(p99(waits.with) / p99(waits.without)).toFixed(2)}x`,
      statements: "",
    },
  ];
}

async function startSilentServer(): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
