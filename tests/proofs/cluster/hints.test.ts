import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms } from "../../support/program.ts";
import { openPullBoard } from "../../support/pull-board.ts";
import { callAt, listenAt, openCluster } from "./cluster.ts";
import { percentile } from "./load.ts";

const COMMENTS = 200;
const P95_MS = 200;

afterAll(cleanUpPrograms);

test.each(["on", "off"])("a comment reaches streams at other processes, with DATABASE_NOTIFY=%s", async (notify) => {
  const cluster = await openCluster(3, { DATABASE_NOTIFY: notify });
  const home = await openPullBoard(cluster.world, "home");
  const [poster, ...others] = cluster.processes;
  const comments = `/api/v1/boards/${home.board_id}/tasks/${await home.addTask()}/comments`;
  const stream = `/api/v1/activity/task-comments/stream?board_id=${home.board_id}`;
  const listeners = await Promise.all(others.map((process) => listenAt(process, stream, { token: home.owner.token })));
  const late_ms: number[] = [];
  for (let number = 1; number <= COMMENTS; number++) {
    const start = performance.now();
    const answer = await callAt(poster!, "POST", comments, { token: home.owner.token, body: { message: `Comment ${number}` } });
    expect(answer.status).toBe(200);
    for (const listener of listeners) await listener.waitForEvents(number);
    late_ms.push(performance.now() - start);
  }
  for (const listener of listeners) await listener.close();
  await cluster.close();
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => percentile(late_ms, part));
  console.log(
    `DATABASE_NOTIFY=${notify}: from the request to the last of two streams p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms`,
  );
  if (notify === "on") expect(p95).toBeLessThanOrEqual(P95_MS);
});

test("a revoked token is refused at every process, and its streams end there", async () => {
  const cluster = await openCluster(4);
  const home = await openPullBoard(cluster.world, "revoked");
  const token = home.worker.token;
  const stream = `/api/v1/agent/boards/${home.board_id}/memory/stream`;
  const open = await Promise.all(
    cluster.processes.map((process) => listenAt(process, `/api/v1/boards/${home.board_id}/memory/stream`, { agent: token })),
  );
  expect(
    open.map(({ status }) => status),
    stream,
  ).toEqual(open.map(() => 200));
  const [first, ...others] = cluster.processes;
  const removed = await callAt(first!, "DELETE", `/api/v1/agents/${home.worker.id}`, { token: home.owner.token });
  expect(removed.status).toBe(200);
  const start = performance.now();
  for (const process of others) {
    const answer = await callAt(process, "GET", "/api/v1/agent/inbox", { agent: token });
    expect(answer.status).toBe(401);
  }
  const refused_ms = performance.now() - start;
  for (const listener of open) await listener.waitForEnd();
  console.log(
    `Refused at all processes after ${refused_ms.toFixed(0)} ms; its streams ended after ${(performance.now() - start).toFixed(0)} ms`,
  );
  await cluster.close();
});
