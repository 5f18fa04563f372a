/**
 * The state that all scenarios begin with, made once by the service itself and copied for each walk: a database as a
 * template, and what the host remembers.
 */
import { sql } from "drizzle-orm";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { type FakeGateway, startFakeGateway } from "../../../packages/local/src/fake-gateway/server.ts";
import { administer, type Postgres } from "../postgres.ts";
import { HOST_TOKEN, type Outside, surround } from "./outside.ts";
import type { Crew } from "./processes.ts";
import { addOffice, type Office } from "./scenarios/office.ts";

export interface Stage {
  office: Office;
  /** A copy of the stage around a host of its own; `host` is overwritten. */
  open(host: FakeGateway): Promise<Outside>;
  /** Removes a copy. */
  drop(outside: Outside): Promise<void>;
}

/** The migrated database that all others come from. */
export const EMPTY = "empty";
const OFFICE = "office";

/** A host on which nothing restarts, as of September, and whose waits are none. */
export const startHost = () => startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" });

/** Makes it. */
export async function prepareServer(postgres: Postgres): Promise<void> {
  const database = openPostgres(await postgres.createDatabase(EMPTY), { log: silent });
  await database.migrate();
  await database.close();
}

export async function setStage(postgres: Postgres, crew: Crew): Promise<Stage> {
  const host = await startHost();
  const outside = surround(await postgres.createDatabase(OFFICE, EMPTY), host);
  const process = await crew.take();
  await outside.employ(process, null);
  const office = await addOffice(outside);
  const { ahead_ms } = outside;
  await crew.release(process);
  await outside.close();
  const memory = remember(host);
  await host.close();
  const names = new Map<Outside, string>();
  let copies = 0;
  return {
    office,
    async open(own) {
      const copy = `${OFFICE}_${++copies}`;
      await administer(postgres.url("postgres"), `create database "${copy}" template "${OFFICE}" strategy file_copy`);
      const opened = surround(postgres.url(copy), own);
      names.set(opened, copy);
      recall(own, memory);
      opened.ahead_ms = ahead_ms;
      await opened.db.execute(sql`update gateways set url = ${own.url}`);
      return opened;
    },
    async drop(opened) {
      await opened.close();
      // A process that was killed has not said good-bye to the server.
      await administer(postgres.url("postgres"), `drop database "${names.get(opened)}" with (force)`);
    },
  };
}

type Memory = ReturnType<typeof remember>;

const remember = ({ host }: FakeGateway) =>
  structuredClone({ config: host.config.file(), files: host.files, sessions: host.sessions, set_up: host.set_up });

function recall({ host, messages, calls }: FakeGateway, memory: Memory): void {
  const { config, files, sessions, set_up } = structuredClone(memory);
  host.config.write(config);
  host.config.reload();
  refill(host.files, files);
  refill(host.sessions, sessions);
  host.set_up.clear();
  for (const one of set_up) host.set_up.add(one);
  for (const forgotten of [host.created, host.runs, host.running, host.patches]) forgotten.clear();
  messages.length = 0;
  calls.length = 0;
}

function refill<Key, Value>(map: Map<Key, Value>, from: ReadonlyMap<Key, Value>): void {
  map.clear();
  for (const [key, value] of from) map.set(key, value);
}
