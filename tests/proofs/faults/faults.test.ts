import { existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { cleanUpPrograms, dataFolder } from "../../support/program.ts";
import type { ServerProcess } from "../../support/server-process.ts";
import { seedOfRun } from "../load/random.ts";
import { createSender } from "../load/tenants.ts";
import { databaseFaults } from "./database-faults.ts";
import { cutAtEachStatement, operations } from "./each-statement.ts";
import { type Driver, DRIVERS, prepare, startSurroundings } from "./environment.ts";
import { otherFaults } from "./other-faults.ts";
import { expectHarmless, MAX_RECOVERY_MS, recover, runFault } from "./run.ts";
import { runWithoutQueue } from "./queue-away.ts";

const seed = seedOfRun();
let copies = 0;
const surroundings = await startSurroundings();
await surroundings.postgres.createDatabase("prepared");
const first = await surroundings.start(surroundings.environment("node-postgres", "prepared"));
const prepared = await prepare(first, surroundings);
await first.stop();
afterEach(cleanUpPrograms);
afterAll(() => surroundings.close());

/** Starts a server on a new copy of the prepared database. */
async function startOnCopy(driver: Driver): Promise<{ server: ServerProcess; database: string }> {
  const database = `fault_${++copies}`;
  await surroundings.postgres.createDatabase(database, "prepared");
  return { server: await surroundings.start(surroundings.environment(driver, database)), database };
}

// oxlint-disable vitest/expect-expect -- expectHarmless has them
describe.each(DRIVERS)("with %s", (driver) => {
  test.for(Object.keys(databaseFaults))("nothing is lost and the service recovers after: %s", async (name, { task }) => {
    const { server, database } = await startOnCopy(driver);
    const run = await runFault(surroundings, server, prepared, { name, fault: databaseFaults[name]!, database, seed });
    task.meta.summary = { driver, ...run.summary, seed };
    expectHarmless(run);
  });

  test.for(Object.keys(operations))(
    "a connection that ends at any statement of %s does not end the process",
    async (name, { task }) => {
      const { server } = await startOnCopy(driver);
      const figures = await cutAtEachStatement(surroundings, server, prepared, operations[name]!);
      task.meta.summary = { driver, fault: `cut at each statement of ${name}`, ...figures, seed };
      expect(server.isAlive()).toBe(true);
    },
  );
});

describe("with everything else that the service talks to", () => {
  test.for(Object.keys(otherFaults))("nothing is lost and the service recovers after: %s", async (name, { task }) => {
    const { server, database } = await startOnCopy("node-postgres");
    const run = await runFault(surroundings, server, prepared, { name, fault: otherFaults[name]!, database, seed });
    task.meta.summary = { driver: "node-postgres", ...run.summary, seed };
    expectHarmless(run);
  });
});
// oxlint-enable vitest/expect-expect

test("until the keys of the identity provider have been read once, people get 503 and agents can work", async ({ task }) => {
  const { tenant, task_ids } = prepared;
  await surroundings.keys.stop();
  const { server } = await startOnCopy("node-postgres");
  const agent = createSender(server.url, null, tenant.lead.token);
  const headers = { authorization: `Bearer ${tenant.token}` };
  const answers: string[] = [];
  // More failed sign-ins than an address may make per minute.
  for (let n = 0; n < 40; n++) {
    const { status, headers: answered } = await fetch(`${server.url}/api/v1/boards`, { headers });
    answers.push(`${status} ${answered.has("retry-after") ? "with" : "without"} Retry-After`);
    await agent("POST", "/api/v1/agent/heartbeat");
  }
  await surroundings.keys.start();
  const recovery = await recover(server, tenant, task_ids[0]!);
  task.meta.summary = {
    driver: "node-postgres",
    fault: "keys away at the start",
    work: 40,
    "recovery ms": recovery,
    alive: "yes",
    seed,
  };
  expect([...new Set(answers)]).toEqual(["503 with Retry-After"]);
  expect(recovery).toBeLessThanOrEqual(MAX_RECOVERY_MS);
});

test("accepted posts arrive, once each, when the queue is back after an outage", async ({ task }) => {
  const figures = await runWithoutQueue();
  task.meta.summary = { driver: "Neon's driver, Lambda", fault: "queue away", ...figures, seed };
  expect(figures.delivered).toBe(figures.accepted);
});

test("a full disk is reported, and the embedded database loses nothing", async ({ task }) => {
  const folder = dataFolder();
  const full = path.join(folder, "full");
  const environment = { ...surroundings.environment("node-postgres", "unused"), DATA_DIR: folder };
  const embedded = {
    ...environment,
    DATABASE_DRIVER: "",
    DATABASE_URL: "",
    DISK_FULL: full,
    FULL_FOLDER: path.join(folder, "database"),
  };
  let server = await surroundings.start(embedded, ["full-disk.cjs"]);
  const { tenant, task_ids } = await prepare(server, surroundings);
  const comments = `/api/v1/boards/${tenant.board_id}/tasks/${task_ids[0]}/comments`;
  const headers = { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" };
  const accepted: string[] = [];
  const statuses: number[] = [];
  const write = async (message: string) => {
    const init = { method: "POST", headers, body: JSON.stringify({ message }), signal: AbortSignal.timeout(5_000) };
    const status = await fetch(server.url + comments, init).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) accepted.push(message);
    return status;
  };
  for (let n = 0; n < 10; n++) expect(await write(`before ${n}`)).toBe(200);
  writeFileSync(full, "");
  for (let n = 0; n < 8; n++) statuses.push(await write(`${n % 2 === 0 ? "during" : "during ".repeat(2_000)} ${n}`));
  const health = await fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(5_000) }).then(
    ({ status }) => status,
    () => 0,
  );
  rmSync(full);
  if (existsSync(full)) throw new Error("The disk is still full");
  const was_alive = server.isAlive();
  const recovery_ms = was_alive ? await recover(server, tenant, task_ids[0]!) : 0;
  const ending = await Promise.race([server.stop("SIGTERM"), pause(15_000, "SIGTERM does not end it", { ref: false })]);
  task.meta.summary = {
    driver: "embedded",
    fault: "disk full",
    work: statuses.length,
    answers: [...new Set(statuses)].join(", "),
    "recovery ms": recovery_ms,
    accepted: accepted.length,
    alive: was_alive ? "yes" : "no",
    seed,
  };
  await server.stop("SIGKILL");
  server = await surroundings.start(embedded, ["full-disk.cjs"]);
  const page = await createSender(server.url, tenant.token)("GET", `${comments}?limit=200`);
  const stored = (page as unknown as { items: { message: string }[] }).items.map(({ message }) => message);
  expect(accepted.filter((message) => !stored.includes(message))).toEqual([]);
  expect(statuses.filter((status) => status !== 503 && status !== 200)).toEqual([]);
  expect(statuses).toContain(503);
  expect(was_alive ? health : 200).toBe(200);
  expect(recovery_ms).toBeLessThanOrEqual(MAX_RECOVERY_MS);
  expect(ending).toMatchObject({ signal: null });
});
