/**
 * The initial state of all scenarios, created once through the service and copied for each walk: a template database and
 * the state of the host.
 */
import { sql } from "drizzle-orm";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";
import { administer, type Postgres } from "../../support/postgres.ts";
import { HOST_TOKEN, type ServiceEnvironment, createEnvironment } from "./environment.ts";
import type { ProcessPool } from "./process-pool.ts";
import { createScenarioFixture, type ScenarioFixture } from "./scenarios/setup.ts";

export interface ScenarioSnapshot {
  fixture: ScenarioFixture;
  /** Creates a copy of the state with a separate host; the state of `host` is overwritten. */
  open(host: FakeGateway): Promise<ServiceEnvironment>;
  /** Deletes a copy. */
  drop(outside: ServiceEnvironment): Promise<void>;
}

/** The migrated database that all others are copied from. */
export const EMPTY = "empty";
const SNAPSHOT = "office";

/** A host of a release that does not restart after config writes, without delays. */
export const startHost = () => startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" });

/** Creates the empty migrated database. */
export async function createEmptyDatabase(postgres: Postgres): Promise<void> {
  const database = openPostgres(await postgres.createDatabase(EMPTY), { log: silentLog });
  await database.migrate();
  await database.close();
}

export async function createSnapshot(postgres: Postgres, crew: ProcessPool): Promise<ScenarioSnapshot> {
  const host = await startHost();
  const outside = createEnvironment(await postgres.createDatabase(SNAPSHOT, EMPTY), host);
  const process = await crew.take();
  await outside.useProcess(process, null);
  const fixture = await createScenarioFixture(outside);
  const { ahead_ms } = outside;
  await crew.release(process);
  await outside.close();
  const memory = captureHost(host);
  await host.close();
  const names = new Map<ServiceEnvironment, string>();
  let copies = 0;
  return {
    fixture,
    async open(own) {
      const copy = `${SNAPSHOT}_${++copies}`;
      await administer(postgres.url("postgres"), `create database "${copy}" template "${SNAPSHOT}" strategy file_copy`);
      const opened = createEnvironment(postgres.url(copy), own);
      names.set(opened, copy);
      restoreHost(own, memory);
      opened.ahead_ms = ahead_ms;
      await opened.db.execute(sql`update gateways set url = ${own.url}`);
      return opened;
    },
    async drop(opened) {
      await opened.close();
      // The sessions of a killed process may still be open.
      await administer(postgres.url("postgres"), `drop database "${names.get(opened)}" with (force)`);
    },
  };
}

type HostState = ReturnType<typeof captureHost>;

const captureHost = ({ host }: FakeGateway) =>
  structuredClone({
    config: host.config.file(),
    files: host.files,
    sessions: host.sessions,
    set_up: host.bootstrapped_workspaces,
  });

function restoreHost({ host, messages, calls }: FakeGateway, memory: HostState): void {
  const { config, files, sessions, set_up } = structuredClone(memory);
  host.config.write(config);
  host.config.reload();
  refill(host.files, files);
  refill(host.sessions, sessions);
  host.bootstrapped_workspaces.clear();
  for (const workspace of set_up) host.bootstrapped_workspaces.add(workspace);
  for (const forgotten of [host.created_at, host.runs, host.active_runs, host.recent_patches]) forgotten.clear();
  messages.length = 0;
  calls.length = 0;
}

function refill<Key, Value>(map: Map<Key, Value>, from: ReadonlyMap<Key, Value>): void {
  map.clear();
  for (const [key, value] of from) map.set(key, value);
}
