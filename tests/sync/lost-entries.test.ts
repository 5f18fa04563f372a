import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { agents } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { afterAll, describe, expect, test } from "vitest";
import { withAgents } from "../support/fake-gateway/config.ts";
import type { DialectName } from "../support/fake-gateway/dialect.ts";
import { startRunningService } from "../support/running-service.ts";
import { createSyncFixture, jobsOf, type SyncFixture } from "../support/sync-fixture.ts";

const fixtures: SyncFixture[] = [];

const service = await startRunningService();
afterAll(async () => {
  await service.close();
  await Promise.all(fixtures.map(({ fake }) => fake.close()));
});

const SECOND_MS = 1_000;
/**
 * Long, because the agents of one sync wait for each other on hosts of protocol 3. Such hosts need a pause after each change of
 * their configuration.
 */
const TIMEOUT = { timeout: 400 * SECOND_MS };
const works = async (token: string) =>
  (await service.world.call("GET", "/api/v1/agent/healthz", { agent: token })).status === 200;

/** Starts a host with this many agents, including the main agent. The host has lost all their entries, and delays each answer. */
async function startWithoutEntries(dialect: DialectName, count: number, delay_ms: number): Promise<SyncFixture> {
  const { world } = service;
  const fixture = await createSyncFixture(world, dialect);
  fixtures.push(fixture);
  const { gateway_id, board_id } = fixture.home;
  const added = Array.from({ length: count - 3 }, (_, n) => {
    const id = randomUUID();
    return { id, name: `Agent ${n}`, gateway_id, board_id, status: "ready" as const, openclaw_session_id: `agent:mc-${id}:main` };
  });
  if (added.length > 0) await world.db.insert(agents).values(added);
  const { host, faults } = fixture.fake;
  host.config.write(withAgents(host.config.file(), host.dialect, []));
  host.config.reload();
  host.files.clear();
  faults.delays_ms = new Proxy({}, { get: () => delay_ms });
  return fixture;
}

/** Syncs as a user does. Returns the result in the answer, or else reads the run until it is done and returns its result. */
async function syncToEnd(
  { sync, run }: SyncFixture,
  query = "rotate_tokens=true",
  options: Parameters<SyncFixture["sync"]>[1] = {},
) {
  const { status, body } = await sync(query, options);
  if (status === 200) return body;
  for (;;) {
    const { status, result } = (await run(body.run_id)).body;
    if (status === "done") return result;
    await pause(200);
  }
}

/** Lists agents that are not on the host with a valid token, and failed attempts. A job that was taken over has not failed. */
async function listProblems(fixture: SyncFixture): Promise<unknown[]> {
  const { world } = service;
  const rows = await world.db.select().from(agents).where(eq(agents.gateway_id, fixture.home.gateway_id));
  const list: unknown[] = [];
  for (const { name, openclaw_session_id, last_provision_error } of rows) {
    const entry_id = openclaw_session_id!.split(":")[1]!;
    const workspace = `/srv/agents/workspace-${entry_id.replace(/^mc-gateway-/, "gateway-")}`;
    const token = fixture.tokenOnHost({ workspace });
    if (token === null || !(await works(token)) || last_provision_error !== null)
      list.push({ name, token, last_provision_error });
  }
  for (const { kind, attempts, crashes, last_error } of await jobsOf(world, fixture))
    if (attempts - crashes > 1 || last_error !== null) list.push({ kind, attempts, crashes, last_error });
  return list;
}

describe.concurrent("one sync with new tokens brings all agents back to a host that lost their entries", () => {
  test.each<{ dialect: DialectName; count: number; delay_ms: number }>([
    { dialect: "2026.2.9", count: 15, delay_ms: 0 },
    { dialect: "2026.2.26", count: 15, delay_ms: 0 },
    { dialect: "2026.5.7", count: 4, delay_ms: 0 },
    { dialect: "2026.5.7", count: 15, delay_ms: 0 },
    { dialect: "2026.5.7", count: 50, delay_ms: 0 },
    { dialect: "2026.5.7", count: 4, delay_ms: SECOND_MS },
    { dialect: "2026.5.7", count: 15, delay_ms: SECOND_MS },
    { dialect: "2026.5.7", count: 4, delay_ms: 4 * SECOND_MS },
    { dialect: "2026.9.6", count: 15, delay_ms: SECOND_MS },
  ])(
    "$count agents are back on a host like $dialect that answers after $delay_ms ms",
    TIMEOUT,
    async ({ dialect, count, delay_ms }) => {
      const fixture = await startWithoutEntries(dialect, count, delay_ms);
      const { errors, total_synced } = await syncToEnd(fixture);
      expect([errors, total_synced]).toEqual([[], count]);
      expect(await listProblems(fixture)).toEqual([]);
    },
  );

  test(
    "the agents of a sync in the background, for which no request waits, take turns writing the host's configuration",
    TIMEOUT,
    async () => {
      const fixture = await startWithoutEntries("2026.5.7", 8, SECOND_MS);
      const { errors, total_synced } = await syncToEnd(fixture, "rotate_tokens=true", { headers: { prefer: "respond-async" } });
      expect([errors, total_synced]).toEqual([[], 8]);
      expect(await listProblems(fixture)).toEqual([]);
    },
  );

  test("two concurrent syncs take turns writing the host's configuration", TIMEOUT, async () => {
    const fixture = await startWithoutEntries("2026.5.7", 8, SECOND_MS);
    const results = await Promise.all([syncToEnd(fixture), syncToEnd(fixture, "rotate_tokens=true&include_main=false")]);
    expect(results.map(({ errors, total_synced }) => [errors, total_synced])).toEqual([
      [[], 8],
      [[], 7],
    ]);
    expect(await listProblems(fixture)).toEqual([]);
  });

  test("a sync and the provisioning of new agents take turns writing the host's configuration", TIMEOUT, async () => {
    const { world } = service;
    const fixture = await startWithoutEntries("2026.5.7", 6, SECOND_MS);
    const { token } = fixture.home.owner;
    const board_id = await fixture.addBoard("Meanwhile");
    const syncing = syncToEnd(fixture);
    for (let n = 0; n < 5; n++) {
      const { status } = await world.call("POST", "/api/v1/agents", { token, body: { name: `New ${n}`, board_id } });
      expect(status).toBe(200);
    }
    expect((await syncing).errors).toEqual([]);
    await service.waitForJobs(fixture.home.organization_id, 200 * SECOND_MS);
    expect(await listProblems(fixture)).toEqual([]);
  });
});
