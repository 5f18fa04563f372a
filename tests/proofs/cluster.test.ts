/** Tests two processes. `npm run test:cluster` tests more, which are killed and restarted under load. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import type { Listener } from "../support/sse.ts";
import { toLimits } from "../support/world.ts";
import { callAt, type Cluster, listenAt, openCluster } from "./cluster/cluster.ts";

const PER_CALLER = 3;
const environment = { STREAMS_PER_CALLER: String(PER_CALLER), LIMITS: toLimits({ inbox_waits_per_organization: 1 }) };
const WAIT = { timeout: 20_000, interval: 20 };

let cluster: Cluster;
let home: PullBoard;
const opened: Listener[] = [];

beforeAll(async () => {
  cluster = await openCluster(2, environment);
});
beforeEach(async () => {
  for (const listener of opened.splice(0)) await listener.close();
  home = await openPullBoard(cluster.world, `person ${crypto.randomUUID()}`);
});
afterAll(async () => {
  await cleanUpPrograms();
  await cluster?.close();
});

const follow = async (at: number, last?: string): Promise<Listener> => {
  const path = `/api/v1/boards/${home.board_id}/memory/stream`;
  const listener = await listenAt(cluster.processes[at]!, path, { token: home.owner.token, last });
  opened.push(listener);
  return listener;
};
const write = (at: number, content: string) =>
  callAt(cluster.processes[at]!, "POST", `/api/v1/boards/${home.board_id}/memory`, {
    token: home.owner.token,
    body: { content },
  });
const contentsOf = (listener: Listener) => listener.events().map(({ data }) => data.memory.content);

test("an entry written at one process reaches a stream at another process, and any process can resume the stream after its last event", async () => {
  const first = await follow(0);
  await write(1, "one");
  await first.waitForEvents(1);
  await first.close();
  await write(0, "two");
  const second = await follow(1, first.lastId());
  await write(0, "three");
  await second.waitForEvents(2);
  expect(contentsOf(second)).toEqual(["two", "three"]);
});

test("streams at all processes count toward their client's limit of open streams, and a closed stream no longer counts", async () => {
  const streams: Listener[] = [];
  for (let number = 0; number < PER_CALLER; number++) streams.push(await follow(number % 2));
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
  expect([(await follow(0)).status, (await follow(1)).status]).toEqual([429, 429]);
  await streams[0]!.close();
  await vi.waitUntil(async () => (await follow(1)).status === 200, WAIT);
});

test("requests that wait for work at all processes count toward one limit of their organization", async () => {
  const other = await home.addAgent("Other");
  const waitAt = (at: number, agent: string) => callAt(cluster.processes[at]!, "GET", "/api/v1/agent/inbox?wait=20", { agent });
  const waits = [waitAt(0, home.worker.token), waitAt(1, other.token)];
  expect((await Promise.race(waits)).status).toBe(429);
  // A new task is work for every agent of the board, so it ends the second wait.
  await callAt(cluster.processes[1]!, "POST", `/api/v1/boards/${home.board_id}/tasks`, {
    token: home.owner.token,
    body: { title: "Paint the fence" },
  });
  expect(new Set((await Promise.all(waits)).map(({ status }) => status))).toEqual(new Set([200, 429]));
});

test("an agent that is removed at one process is refused at another", async () => {
  const read = (at: number) => callAt(cluster.processes[at]!, "GET", "/api/v1/agent/inbox", { agent: home.worker.token });
  expect([(await read(0)).status, (await read(1)).status]).toEqual([200, 200]);
  await callAt(cluster.processes[0]!, "DELETE", `/api/v1/agents/${home.worker.id}`, { token: home.owner.token });
  await vi.waitUntil(async () => (await read(1)).status === 401, WAIT);
});
