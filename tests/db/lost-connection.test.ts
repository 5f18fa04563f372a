import { type Database, rowsOf } from "@board/core/db/database";
import { openNeon } from "@board/core/db/neon";
import type { DatabaseTimeouts } from "@board/core/db/pool";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { startConsumer } from "../../packages/local/src/consumer.ts";
import { getJob, getPayloadJob } from "../support/jobs.ts";
import { startNeonProxy } from "../support/neon-proxy.ts";
import { administer, startPostgres } from "../support/postgres.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

const CONNECTIONS = 2;
const TIMEOUTS: DatabaseTimeouts = { connect_ms: 5_000, statement_ms: 2_000, idle_transaction_ms: 1_000 };

const postgres = await setup(startPostgres());
const proxy = await setup(startNeonProxy({ port: postgres.port }));
const host = await setup(startFakeGateway({ token: "test-token-123" }));

const drivers = {
  "node-postgres": (url: string, timeouts?: DatabaseTimeouts) =>
    openPostgres(url, { max: CONNECTIONS, log: silentLog, ...(timeouts ? { timeouts } : {}) }),
  "Neon's driver": (url: string, timeouts?: DatabaseTimeouts) =>
    openNeon(url, { max: CONNECTIONS, proxy: proxy.address, log: silentLog, ...(timeouts ? { timeouts } : {}) }),
};

describe.each(Object.entries(drivers))("a broken connection to the database is replaced: %s", (driver, open) => {
  const name = driver.replaceAll(/\W/g, "_");
  let database: Database;
  let world: World;
  let home: Tenant;

  beforeAll(async () => {
    const url = await postgres.createDatabase(name);
    const migrating = openPostgres(url, { max: 1, log: silentLog });
    await migrating.migrate();
    await migrating.close();
    database = open(url);
    world = await createWorld({ database });
    home = await world.tenant("home", host.url);
  });
  beforeEach(async () => {
    await world.drain();
    host.messages.length = 0;
    world.log.length = 0;
  });
  afterAll(async () => {
    await world.close();
    await database.close();
  });

  const readBoard = (caller: { token?: string; agent?: string } = { token: home.owner.token }) =>
    world.call("GET", `/api/v1/boards/${home.board_id}/tasks`, caller);
  const endConnections = () =>
    administer(postgres.url("postgres"), `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);

  async function countActive(query: string): Promise<number> {
    const separate = openPostgres(postgres.url("postgres"), { max: 1, log: silentLog });
    const found = await separate.db.execute(
      sql`select 1 from pg_stat_activity where datname = ${name} and query = ${query} and state = 'active'`,
    );
    await separate.close();
    return rowsOf(found).length;
  }

  async function duringOutage(work: () => Promise<unknown>): Promise<void> {
    await postgres.halt();
    try {
      await work();
    } finally {
      await postgres.resume();
    }
  }

  /** Keeps a transaction open while `work` runs, and returns how the transaction ended. */
  async function duringTransaction(work: () => Promise<unknown>): Promise<PromiseSettledResult<unknown>> {
    const begun = Promise.withResolvers<void>();
    const worked = Promise.withResolvers<void>();
    const transaction = world.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      begun.resolve();
      await worked.promise;
      await tx.execute(sql`select 2`);
    });
    const ended = Promise.allSettled([transaction]);
    await begun.promise;
    await work();
    worked.resolve();
    return (await ended)[0]!;
  }

  test("when a connection ends in the middle of a transaction, the transaction fails and the pool can open another connection", async () => {
    for (let n = 0; n < CONNECTIONS * 2; n++)
      expect(await duringTransaction(endConnections)).toMatchObject({ status: "rejected" });
    expect((await readBoard()).status).toBe(200);
  });

  test("when a connection ends during a statement, the statement fails and the pool can open another connection", async () => {
    const query = "select pg_sleep(20)";
    const waiting = Promise.allSettled(Array.from({ length: CONNECTIONS }, () => world.db.execute(sql.raw(query))));
    await expect.poll(() => countActive(query), { timeout: 10_000 }).toBe(CONNECTIONS);
    await endConnections();
    expect(new Set((await waiting).map(({ status }) => status))).toEqual(new Set(["rejected"]));
    expect((await readBoard()).status).toBe(200);
  });

  test("while the server is unavailable, people and agents get 503 with Retry-After, and 200 as soon as the server is back", async () => {
    const callers = [{ token: home.owner.token }, { agent: home.lead.token }, { token: "unknown" }, { agent: "unknown" }];
    await duringOutage(async () => {
      for (const caller of [{ token: home.owner.token }, { agent: home.lead.token }, { agent: "unknown" }]) {
        const answer = await readBoard(caller);
        expect(answer).toMatchObject({ status: 503, body: { detail: "Service Unavailable" } });
        expect(answer.headers.get("retry-after")).toBe("5");
      }
      const create = { token: home.owner.token, body: { name: "lost", description: "" } };
      expect((await world.call("POST", "/api/v1/boards", create)).status).toBe(503);
    });
    const statuses = await Promise.all(callers.map(async (caller) => (await readBoard(caller)).status));
    expect(statuses).toEqual([200, 200, 401, 401]);
  });

  test("a server that restarts under load causes no statuses other than 200 and 503", async () => {
    const statuses = new Set<number>();
    let stopped = false;
    const callers = Array.from({ length: 8 }, async (_, n) => {
      while (!stopped) statuses.add((await readBoard(n % 2 === 0 ? { agent: home.lead.token } : undefined)).status);
    });
    await expect.poll(() => statuses.has(200), { timeout: 10_000 }).toBe(true);
    await duringOutage(async () => {
      await expect.poll(() => statuses.has(503), { timeout: 10_000 }).toBe(true);
    });
    statuses.delete(200);
    await expect.poll(() => statuses.has(200), { timeout: 5_000 }).toBe(true);
    stopped = true;
    await Promise.all(callers);
    expect(statuses).toEqual(new Set([200, 503]));
  });

  test("a job whose database becomes unavailable while it runs is done once the database is back, without a crash", async () => {
    const webhook = await createWebhook(world, home);
    const { id } = await getPayloadJob(world, await postPayload(world, webhook));
    host.faults.delays_ms["chat.send"] = 500;
    const consumer = startConsumer(() => world.context());
    consumer.requestRelay(createPendingWakeups(true));
    await expect.poll(() => host.calls.some(({ method }) => method === "chat.send"), { timeout: 10_000 }).toBe(true);
    await duringOutage(() => new Promise((resolve) => setTimeout(resolve, 1_500)));
    await expect.poll(async () => (await getJob(world, id)).status, { timeout: 8_000 }).toBe("done");
    await consumer.stop();
    delete host.faults.delays_ms["chat.send"];
    expect(await getJob(world, id)).toMatchObject({ crashes: 0 });
    expect(host.messages).toHaveLength(1);
  });

  test("jobs that are due while the database is unavailable are done once it is back", async () => {
    const webhook = await createWebhook(world, home);
    const { id } = await getPayloadJob(world, await postPayload(world, webhook));
    const consumer = startConsumer(() => world.context());
    await duringOutage(async () => {
      consumer.requestRelay(createPendingWakeups(true));
      await expect.poll(() => world.log.some(({ event }) => event === "jobs.relay_failed"), { timeout: 8_000 }).toBe(true);
    });
    await expect.poll(async () => (await getJob(world, id)).status, { timeout: 8_000 }).toBe("done");
    await consumer.stop();
    expect(await getJob(world, id)).toMatchObject({ crashes: 0 });
  });

  test("a statement and an idle transaction end after their timeouts, and migrations have no timeouts", async () => {
    const limited = open(postgres.url(name), TIMEOUTS);
    const code = (reason: { cause?: { code?: string } }) => reason.cause?.code;
    await expect(limited.db.execute(sql`select pg_sleep(10)`)).rejects.toSatisfy((reason) => code(reason) === "57014");
    const idle = limited.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await tx.execute(sql`select 2`);
    });
    await expect(idle).rejects.toThrow(/rollback/);
    await limited.migrate();
    await limited.close();
  });
});
