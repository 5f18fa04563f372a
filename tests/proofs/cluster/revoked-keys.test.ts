import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cleanUpPrograms } from "../../support/program.ts";
import { openPullBoard } from "../../support/pull-board.ts";
import { callAt, type Cluster, listenAt, openCluster } from "./cluster.ts";

const PROCESSES = 3;
/** Long, because the machine may be busy. The summary of the test shows the time that was needed. */
const WAIT = { timeout: 120_000, interval: 20 };

let cluster: Cluster;
beforeAll(async () => {
  cluster = await openCluster(PROCESSES);
});
afterAll(async () => {
  await cleanUpPrograms();
  await cluster?.close();
});

test.for([
  ["of the organization", "/api/v1/keys"],
  ["of a person", "/api/v1/users/me/keys"],
] as const)(
  "once one of three processes has revoked a key %s, no process answers its next request, and its open streams end",
  async ([of, keys], { task }) => {
    const home = await openPullBoard(cluster.world, `revoked ${of}`);
    const by = { token: home.owner.token };
    const [first] = cluster.processes;
    const { body } = await callAt(first!, "POST", keys, { ...by, body: { name: "Script", access: "write" } });
    const token: string = body.key;
    const readAll = async () =>
      Promise.all(cluster.processes.map(async (process) => (await callAt(process, "GET", "/api/v1/boards", { token })).status));
    // Twice, so that every process has seen the key before and could remember it.
    expect([await readAll(), await readAll()]).toEqual(Array(2).fill(Array(PROCESSES).fill(200)));
    const path = `/api/v1/boards/${home.board_id}/tasks/stream`;
    const streams = await Promise.all(cluster.processes.map((process) => listenAt(process, path, { token })));
    expect(streams.map(({ status, ended }) => [status, ended])).toEqual(Array(PROCESSES).fill([200, false]));

    expect((await callAt(first!, "DELETE", `${keys}/${body.id}`, by)).status).toBe(200);
    const revoked = Date.now();
    expect(await readAll()).toEqual(Array(PROCESSES).fill(401));
    const refused_after_ms = Date.now() - revoked;
    await vi.waitUntil(() => streams.every(({ ended }) => ended), WAIT);
    task.meta.summary = { key: of, refused_after_ms, streams_ended_after_ms: Date.now() - revoked };
  },
);
