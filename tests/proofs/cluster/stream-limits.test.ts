import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cleanUpPrograms } from "../../support/program.ts";
import { openPullBoard, type PullBoard } from "../../support/pull-board.ts";
import type { ServerProcess } from "../../support/server-process.ts";
import type { Listener } from "../../support/sse.ts";
import { type Cluster, listenAt, openCluster } from "./cluster.ts";

const PROCESSES = 3;
const LIMIT = 9;
const MINUTE_MS = 60_000;
/**
 * Longer than the 45 seconds for which the streams of a killed process count. After this time it has missed two renewals of its
 * presence.
 */
const WAIT = { timeout: 120_000, interval: 100 };

interface OpenedStream extends Listener {
  process: ServerProcess;
}

let cluster: Cluster;
let home: PullBoard;
const opened: OpenedStream[] = [];
const isOpen = ({ status, ended }: Listener) => status === 200 && !ended;

beforeAll(async () => {
  cluster = await openCluster(PROCESSES, { STREAMS_PER_ORGANIZATION: String(LIMIT) });
  home = await openPullBoard(cluster.world, "home");
});
afterAll(async () => {
  for (const listener of opened.filter(isOpen)) await listener.close();
  await cleanUpPrograms();
  await cluster?.close();
});

/** Opens a stream at a process, alternately as the owner, the lead and the worker. */
async function follow(at: number, { board_id, owner, lead, worker } = home): Promise<OpenedStream> {
  const callers = [{ token: owner.token }, { agent: lead.token }, { agent: worker.token }];
  const process = cluster.processes[at % cluster.processes.length]!;
  const listener = await listenAt(process, `/api/v1/boards/${board_id}/memory/stream`, callers[opened.length % 3]!);
  const stream = Object.assign(listener, { process });
  opened.push(stream);
  return stream;
}

test("streams at three processes share the limit of their organization, and streams of a killed process count for less than a minute", async ({
  task,
}) => {
  const first = await Promise.all(Array.from({ length: 3 * LIMIT }, (_, turn) => follow(turn)));
  expect(first.filter(isOpen)).toHaveLength(LIMIT);
  expect(first.filter(({ status }) => status === 429)).toHaveLength(2 * LIMIT);

  // Each process in turn takes the place of a stream that was closed at any of them.
  for (const [turn, closed] of first.filter(isOpen).slice(0, PROCESSES).entries()) {
    await closed.close();
    await vi.waitUntil(async () => isOpen(await follow(turn)), WAIT);
    for (let at = 0; at < PROCESSES; at++) expect((await follow(at)).status).toBe(429);
  }

  const countAt = (process: ServerProcess) => opened.filter((stream) => isOpen(stream) && stream.process === process).length;
  const killed = cluster.processes.toSorted((one, other) => countAt(other) - countAt(one))[0]!;
  const lost = countAt(killed);
  const start = Date.now();
  await cluster.end(killed, "SIGKILL");
  expect((await follow(0)).status, "the places are kept for a process that may only be slow").toBe(429);
  expect(isOpen(await follow(0, await openPullBoard(cluster.world, "other"))), "another organization").toBe(true);
  let free = 0;
  await vi.waitUntil(async () => {
    if (isOpen(await follow(free))) free++;
    return free === lost;
  }, WAIT);
  const free_after_ms = Date.now() - start;
  task.meta.summary = { streams_of_the_killed_process: lost, their_places_were_free_after_ms: free_after_ms };
  expect((await follow(0)).status).toBe(429);
  expect(free_after_ms).toBeLessThan(MINUTE_MS);
});
