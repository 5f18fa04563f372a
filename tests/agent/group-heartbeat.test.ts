import { agents, gateways, jobs } from "@board/core/schema/all-tables";
import { desc, eq, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addGroup } from "../support/group.ts";
import { setupTenants } from "../support/gateway-fixture.ts";

let other: { board_id: string; agent: { id: string; token: string } };
let group_id: string;

const { world, home } = await setupTenants();
beforeEach(async () => {
  other = await addBoard(world, home);
  group_id = await addGroup(world, home, "Platform", [home.board_id, other.board_id]);
});

const beat = (body: object, credential: object = { token: home.owner.token }) =>
  world.call("POST", `/api/v1/board-groups/${group_id}/heartbeat`, { body, ...credential });
const configOf = async (id: string) => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!.heartbeat_config;
const configJobs = async () =>
  (await world.db.select().from(jobs).where(eq(jobs.kind, "config.heartbeat")).orderBy(desc(jobs.seq))).filter(
    (job) => job.organization_id === home.organization_id,
  );

test("a group heartbeat configures every agent of the group's boards except the leads", async () => {
  const answer = await beat({ every: "15m" });
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      board_group_id: group_id,
      requested: { every: "15m", include_board_leads: false },
      updated_agent_ids: [home.worker.id, other.agent.id],
      failed_agent_ids: [],
    },
  ]);
  const config = { every: "15m", target: "last", includeReasoning: false };
  expect([await configOf(home.worker.id), await configOf(other.agent.id), await configOf(home.lead.id)]).toEqual([
    config,
    config,
    null,
  ]);
  const shown = (await world.call("GET", `/api/v1/agents/${home.worker.id}`, home.owner)).body;
  expect(shown.heartbeat_config).toEqual(config);
});

test("a group heartbeat configures leads only on request, and never agents outside the group", async () => {
  const outside = await addBoard(world, home, "Outside");
  const { updated_agent_ids } = (await beat({ every: "1h", include_board_leads: true })).body;
  expect(updated_agent_ids).toEqual([home.lead.id, home.worker.id, other.agent.id]);
  expect(await configOf(outside.agent.id)).toBeNull();
});

test("a group heartbeat keeps the other heartbeat settings of an agent, and sets missing ones to their defaults", async () => {
  const stored = { every: "2h", target: "none", prompt: "Look around", activeHours: { start: "08:00" } };
  await world.db.update(agents).set({ heartbeat_config: stored }).where(eq(agents.id, home.worker.id));
  await beat({ every: "30s" });
  expect(await configOf(home.worker.id)).toEqual({ ...stored, every: "30s", target: "last", includeReasoning: false });
});

test("repeating a group heartbeat does not change the agents and queues another host job", async () => {
  await beat({ every: "15m" });
  const before = await world.db.select().from(agents).where(eq(agents.id, home.worker.id));
  expect((await beat({ every: "15m" })).body.updated_agent_ids).toHaveLength(2);
  expect(await world.db.select().from(agents).where(eq(agents.id, home.worker.id))).toEqual(before);
  expect(await configJobs()).toHaveLength(2);
});

test("a changed heartbeat configuration is sent to clients that follow the agents", async () => {
  const order = async () => (await world.db.select().from(agents).where(eq(agents.id, home.worker.id)))[0]!.change_seq;
  const before = await order();
  await beat({ every: "15m" });
  expect(await order()).toBeGreaterThan(before);
});

test("a group heartbeat queues one job per gateway, in the gateway's lane, with its agents", async () => {
  const second = { name: "Second", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
  const gateway_id = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body: second })).body.id;
  const far = await addBoard(world, { ...home, gateway_id }, "Far");
  group_id = await addGroup(world, home, "Both", [home.board_id, other.board_id, far.board_id]);
  await beat({ every: "15m" });
  expect((await configJobs()).map(({ lane, payload, max_attempts }) => ({ lane, payload, max_attempts }))).toEqual([
    { lane: gateway_id, payload: { gateway_id, agent_ids: [far.agent.id] }, max_attempts: 6 },
    {
      lane: home.gateway_id,
      payload: { gateway_id: home.gateway_id, agent_ids: [home.worker.id, other.agent.id] },
      max_attempts: 6,
    },
  ]);
});

test("agents whose gateway has no address or workspace root are reported as failed and stay unchanged", async () => {
  // Only imported rows can be like this: the table refuses new ones.
  await world.db.execute(sql`alter table gateways drop constraint if exists gateways_not_blank`);
  for (const lacking of [{ url: " " }, { workspace_root: "" }]) {
    await world.db
      .update(gateways)
      .set({ url: "ws://127.0.0.1:9", workspace_root: "/srv", ...lacking })
      .where(eq(gateways.id, home.gateway_id));
    expect((await beat({ every: "15m" })).body).toMatchObject({
      updated_agent_ids: [],
      failed_agent_ids: [home.worker.id, other.agent.id],
    });
  }
  expect([await configOf(home.worker.id), await configJobs()]).toEqual([null, []]);
});

test("a group heartbeat without agents updates nothing and queues no job", async () => {
  group_id = await addGroup(world, home, "Empty", []);
  expect((await beat({ every: "15m" })).body).toMatchObject({ updated_agent_ids: [], failed_agent_ids: [] });
  expect(await configJobs()).toEqual([]);
});

test.each(["1s", "10m", "24h", "99999d"])("the heartbeat interval %s is accepted", async (every) => {
  expect((await beat({ every })).body.requested.every).toBe(every);
});

test.each([["0m"], ["10"], ["m"], ["-5m"], ["1.5h"], ["100000s"], ["10 m"], ["10M"], ["10m "], ["10m\n"], [""], [5], [null]])(
  "the heartbeat interval %j is refused",
  async (every) => {
    const refused = await beat({ every });
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["body", "every"] }]]);
  },
);

test("among agents, only the lead of a board in the group may configure the group's heartbeats", async () => {
  expect((await beat({ every: "15m" }, { agent: home.lead.token })).body.updated_agent_ids).toEqual([
    home.worker.id,
    other.agent.id,
  ]);
  const refusal = (message: string) => ({ detail: { code: "forbidden", message }, code: "forbidden", retryable: false });
  const worker = await beat({ every: "15m" }, { agent: home.worker.token });
  expect([worker.status, worker.body]).toEqual([403, refusal("Only board leads can perform this action")]);
  group_id = await addGroup(world, home, "Other", [other.board_id]);
  for (const body of [{ every: "15m" }, { every: "never" }]) {
    const outside = await beat(body, { agent: home.lead.token });
    expect([outside.status, outside.body]).toEqual([403, refusal("Board access denied")]);
  }
});
