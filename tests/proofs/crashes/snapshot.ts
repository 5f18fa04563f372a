/**
 * The initial state of all scenarios, created once through the service and copied for each walk: a template database and
 * the state of the host.
 */
import { sql } from "drizzle-orm";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import { copyTemplate } from "../../support/test-database.ts";
import { createEnvironment, inProcess, type ServiceEnvironment } from "../load/environment.ts";
import { startHost } from "../load/hosts.ts";
import type { ProcessPool } from "../load/process-pool.ts";
import { createScenarioFixture, type ScenarioFixture } from "./scenarios/setup.ts";

export interface ScenarioSnapshot {
  fixture: ScenarioFixture;
  /** Creates a copy of the state with a separate host; the state of `host` is overwritten. */
  open(host: FakeGateway): Promise<ServiceEnvironment>;
  /** Deletes a copy. */
  drop(outside: ServiceEnvironment): Promise<void>;
}

export async function createSnapshot(crew: ProcessPool): Promise<ScenarioSnapshot> {
  const [original, host] = await Promise.all([copyTemplate(), startHost()]);
  const outside = createEnvironment(original.url, host);
  const fixture = await inProcess(crew, outside, () => createScenarioFixture(outside));
  const { ahead_ms } = outside;
  await outside.close();
  const memory = captureHost(host);
  await host.close();
  const drops = new Map<ServiceEnvironment, () => Promise<void>>();
  return {
    fixture,
    async open(own) {
      const copy = await copyTemplate(original.name);
      const opened = createEnvironment(copy.url, own);
      drops.set(opened, () => copy.drop());
      restoreHost(own, memory);
      opened.ahead_ms = ahead_ms;
      await opened.db.execute(sql`update gateways set url = ${own.url}`);
      return opened;
    },
    async drop(opened) {
      await opened.close();
      await drops.get(opened)!();
      drops.delete(opened);
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
