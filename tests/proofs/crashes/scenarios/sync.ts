import { hostAgentId } from "@board/core/values/session-key";
import { expect } from "vitest";
import { agentsOf } from "../../../support/fake-gateway/config.ts";
import type { Answer } from "../../../support/http.ts";
import type { ServiceEnvironment } from "../../load/environment.ts";
import type { Scenario } from "../walk.ts";
import type { ScenarioFixture } from "./setup.ts";

async function rotate(
  outside: ServiceEnvironment,
  { gateway_id, worker }: ScenarioFixture,
  headers: Record<string, string> = {},
): Promise<Answer> {
  // The host's configuration does not have this heartbeat yet.
  await outside.rows(`update agents set heartbeat_config = '{"every":"5m"}' where id = '${worker.id}'`);
  const path = `/api/v1/gateways/${gateway_id}/templates/sync?rotate_tokens=true&reset_sessions=true`;
  return outside.request("POST", path, { headers });
}

async function check(
  outside: ServiceEnvironment,
  { lead, worker, main }: ScenarioFixture,
  answers: readonly { status: number }[],
): Promise<null> {
  const runs = await outside.rows<{ id: string; status: string; errors: unknown[]; warnings: unknown[] }>(
    "select * from sync_runs",
  );
  // A run without an answer may not have started.
  if (answers.length > 0) expect(runs).toHaveLength(1);
  expect(runs.length).toBeLessThanOrEqual(1);
  for (const run of runs) expect(run).toMatchObject({ status: "done", errors: [] });
  const rows = await outside.rows<{ status: string; error: string | null }>("select * from sync_run_agents");
  expect(rows).toHaveLength(3 * runs.length);
  for (const row of rows) expect(row).toMatchObject({ status: "success", error: null });

  const signsIn = async (agent: string) => (await outside.request("GET", "/api/v1/agent/healthz", { agent })).status;
  for (const { session_key, token } of [lead, worker, main]) {
    const held = outside.tokenOnHost(session_key)!;
    expect(await signsIn(held)).toBe(200);
    expect(held === token).toBe(runs.length === 0);
    expect(await signsIn(token)).toBe(runs.length === 0 ? 200 : 401);
  }
  const { host } = outside.host;
  const entry = agentsOf(host.config.file(), host.dialect).find(({ id }) => id === hostAgentId(worker.session_key));
  expect(entry).toMatchObject({ heartbeat: { every: runs.length === 0 ? "10m" : "5m" } });
  const resets = outside.host.calls.filter(({ method }) => method === "sessions.reset");
  expect(new Set(resets.map(({ params }) => (params as { key: string }).key)).size).toBe(3 * runs.length);
  expect(await outside.rows("select kind, status, last_error from jobs where status <> 'done'")).toEqual([]);
  return null;
}

/** An inline sync that rotates the tokens of all agents of a host. */
export const sync: Scenario = {
  name: "tokens are rotated by an inline sync",
  async act(outside, office, answers) {
    const answer = await rotate(outside, office);
    answers.push(answer);
    expect(answer.body).toMatchObject({ total_synced: 3, total_errors: 0 });
  },
  check,
};

/** An asynchronous sync that rotates the tokens. */
export const syncRun: Scenario = {
  name: "tokens are rotated by an asynchronous sync",
  async act(outside, office, answers) {
    answers.push(await rotate(outside, office, { prefer: "respond-async" }));
  },
  check,
};
