import { jobs } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import {
  addAgent,
  addEmptyBoard,
  callsOf,
  deliverConcurrently,
  getAgentRow,
  messagesTo,
  type NewAgent,
  tokensOf,
} from "../support/provisioning.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

/** The number of config.patch calls that the host accepts in a minute here, as some releases do. */
const PATCH_LIMIT = 3;
const AGENTS = 20;

const world = await setupWorld();
const host = await setup(startFakeGateway({ token: "test-token-123", dialect: "2026.9.6" }));
const home = await world.tenant("home", host.url);

const entries = () => (host.host.config.file() as { agents: { entries: Record<string, object> } }).agents.entries;
const idOf = ({ openclaw_session_id }: NewAgent) => openclaw_session_id.split(":")[1]!;

/** Adds a board and its agents and provisions all of them at once. */
async function provisionTogether(settings: readonly object[]): Promise<NewAgent[]> {
  await world.db.delete(jobs);
  host.calls.length = 0;
  const board_id = await addEmptyBoard(world, home);
  const made: NewAgent[] = [];
  for (const [number, changed] of settings.entries())
    made.push(await addAgent(world, home, board_id, { name: `Agent ${number}`, ...changed }));
  await deliverConcurrently(world);
  return made;
}

test("agents that are created together are provisioned with as few configuration writes as their host allows in a minute", async () => {
  host.faults.patch_limit = PATCH_LIMIT;
  const made = await provisionTogether(
    Array.from({ length: AGENTS }, (_, number) => ({ heartbeat_config: { every: `${number + 5}m` } })),
  );
  expect(callsOf(host, "config.patch").length).toBeLessThanOrEqual(PATCH_LIMIT);
  for (const [number, agent] of made.entries()) {
    expect(await getAgentRow(world, agent.id)).toMatchObject({ status: "ready", last_provision_error: null });
    expect(entries()[idOf(agent)]).toMatchObject({
      name: `Agent ${number}`,
      workspace: `/srv/agents/workspace-${idOf(agent)}`,
      heartbeat: { every: `${number + 5}m` },
    });
    expect(tokensOf(host, agent).map(([, token]) => token)).toEqual([agent.auth_token]);
    expect(messagesTo(host, agent)).toHaveLength(1);
  }
  const provisioned = await world.db
    .select({ attempts: jobs.attempts, status: jobs.status })
    .from(jobs)
    .where(and(eq(jobs.kind, "agent.provision"), eq(jobs.organization_id, home.organization_id)));
  expect(provisioned).toEqual(made.map(() => ({ attempts: 1, status: "done" })));
});

test("when a host refuses the heartbeat settings of one agent, other agents that are created at the same time get their settings", async () => {
  host.faults.patch_limit = null;
  host.faults.refused_config_keys = ["mood"];
  const [odd, ...plain] = await provisionTogether([{ heartbeat_config: { every: "7m", mood: "fine" } }, {}, {}, {}]);
  expect(entries()[idOf(odd!)]).toMatchObject({ heartbeat: { every: "7m" } });
  for (const agent of plain) expect(entries()[idOf(agent)]).toMatchObject({ heartbeat: { every: "10m" } });
});
