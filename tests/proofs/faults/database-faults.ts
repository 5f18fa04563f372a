/** Faults of the database, each tried with both drivers. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Random } from "../load/random.ts";
import { onServer, type Surroundings } from "./environment.ts";

export interface FaultContext extends Surroundings {
  random: Random;
  /** The name of the server's database. */
  database: string;
}

/** Begins the fault and ends it, while ordinary work continues. */
export type Fault = (at: FaultContext) => Promise<void>;

const KILL_MS = 8_000;
const STOPPED_MS = 10_000;
const SHORT_MS = 4_000;

/** Repeats `work` at random moments. */
async function atRandom({ random }: FaultContext, duration_ms: number, work: () => Promise<unknown>): Promise<void> {
  const end = Date.now() + duration_ms;
  while (Date.now() < end) {
    await pause(random() * 100);
    await work();
  }
}

export const databaseFaults: Readonly<Record<string, Fault>> = {
  async "connections killed at random"(at) {
    const one = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${at.database}' order by random() limit 1`;
    await atRandom(at, KILL_MS, () => onServer(at, one));
  },
  async "all connections cut at once, again and again"(at) {
    await atRandom(at, SHORT_MS, async () => {
      at.proxy.drop();
      await pause(300);
    });
  },
  async "a statement at random is the last of every connection"(at) {
    await atRandom(at, KILL_MS, async () => {
      if (at.proxy.left === null) at.proxy.cutAfter(1 + Math.floor(at.random() * 30));
    });
  },
  async "database restarted"({ postgres }) {
    await postgres.halt();
    await postgres.resume();
  },
  async "database stopped for 10 s"({ postgres }) {
    await postgres.halt();
    await pause(STOPPED_MS);
    await postgres.resume();
  },
  async "database read-only, as after a failover"(at) {
    const end = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${at.database}'`;
    await onServer(at, `alter database ${at.database} set default_transaction_read_only = on`);
    await onServer(at, end);
    await pause(SHORT_MS);
    await onServer(at, `alter database ${at.database} reset default_transaction_read_only`);
    await onServer(at, end);
  },
  async "connections to the database that go silent"({ proxy }) {
    proxy.freeze();
    await pause(SHORT_MS);
    proxy.thaw();
  },
  async "names that no longer resolve"({ names, proxy }) {
    names.stop();
    proxy.drop();
    await pause(SHORT_MS);
    names.start();
  },
  async "a transaction left open in the same database"(at) {
    const client = new pg.Client(at.postgres.url(at.database));
    await client.connect();
    await client.query("begin");
    await client.query("select pg_current_xact_id()");
    await pause(SHORT_MS);
    await client.query("commit");
    await client.end();
  },
};
