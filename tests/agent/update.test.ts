import { beforeEach, describe, expect, test } from "vitest";
import { manageAgents, updateJob } from "./manage-agents.ts";
import { type CallOptions, statusAndBody } from "../support/http.ts";
import { listJobsCreatedBy } from "../support/jobs.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

/** A board on the tenant's gateway, new for each test. */
let board_id: string;

const world = await setupWorld();
const home = await world.tenant("home");
const manage = manageAgents(world, home);
const abroad = await world.tenant("abroad");
const reader = await world.member("reader", home, "admin", { read: true });

beforeEach(async () => {
  board_id = await manage.addBoard();
});
const ann = renew(() => manage.addAgent({ name: "Ann", board_id }));

const patch = (body: object, query = "", id = ann.id, options?: CallOptions) => manage.patch(id, body, query, options);
const rowOf = () => manage.row(ann.id);
const jobsOf = (work: () => Promise<unknown>) => listJobsCreatedBy(world, work);

describe("changing an agent's fields", () => {
  test("an agent's status cannot be changed by PATCH", async () => {
    const detail = "Agent status is controlled by heartbeats.";
    for (const body of [{ status: "online" }, { status: null, name: "Other" }, { status: { any: 1 }, board_id: null }])
      expect(statusAndBody(await patch(body, "?force=true"))).toEqual([403, { detail }]);
    expect(await rowOf()).toMatchObject({ name: "Ann", status: "provisioning" });
  });

  test("a change of an agent to its current values neither changes the row nor queues a job", async () => {
    await patch({ heartbeat_config: { every: "5m", target: "last" }, identity_profile: { role: "Writer" } });
    const before = await rowOf();
    const queued = await jobsOf(async () => {
      for (const body of [
        {},
        { unknown: 1 },
        { name: " Ann " },
        { board_id, identity_template: " ", soul_template: null },
        { heartbeat_config: { target: "last", every: "5m" } },
        { identity_profile: { " role ": "Writer", none: null } },
      ])
        expect((await patch(body)).body).toMatchObject({ id: ann.id, name: "Ann" });
    });
    expect([queued, await rowOf()]).toEqual([[], before]);
  });

  test.each([
    ["name", " Anna ", "Anna"],
    ["identity_profile", { role: "Writer", level: 3 }, { role: "Writer", level: "3" }],
    ["identity_template", "# {{ agent_name }}\n", "# {{ agent_name }}"],
    ["soul_template", "{% for %}", "{% for %}"],
  ])("a new %s is stored, and a job updates the agent's files", async (field, value, stored) => {
    const before = await rowOf();
    const queued = await jobsOf(async () => {
      expect((await patch({ [field]: value })).body).toMatchObject({ id: ann.id, [field]: stored, status: "provisioning" });
    });
    expect(queued).toMatchObject([updateJob(ann.id)]);
    const { agent_token_hash, openclaw_session_id, lifecycle_generation } = before;
    expect(await rowOf()).toMatchObject({ agent_token_hash, openclaw_session_id, lifecycle_generation });
    expect((await rowOf()).updated_at).not.toEqual(before.updated_at);
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: ann.auth_token })).status).toBe(200);
  });

  test("null clears the optional fields of an agent, and null in other fields and values of a wrong type are refused", async () => {
    const full = { heartbeat_config: { every: "1m" }, identity_profile: { a: "b" }, identity_template: "I", soul_template: "S" };
    await patch(full);
    const none = { heartbeat_config: null, identity_profile: null, identity_template: null, soul_template: null };
    expect((await patch(none)).body).toMatchObject(none);
    for (const [field, body] of Object.entries({
      name: { name: null },
      is_gateway_main: { is_gateway_main: null },
      heartbeat_config: { heartbeat_config: { every: 5 } },
      identity_profile: { identity_profile: [] },
    })) {
      const answer = await patch(body);
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["body", field] }]]);
    }
  });

  test("a change of only the heartbeat configuration is written to the host by a job, without a reset or wake-up of the agent", async () => {
    const heartbeat_config = { every: "15m" };
    const queued = await jobsOf(async () => {
      expect((await patch({ heartbeat_config })).body).toMatchObject({ heartbeat_config });
    });
    expect(queued).toMatchObject([
      { kind: "config.heartbeat", payload: { gateway_id: home.gateway_id, agent_ids: [ann.id] }, lane: home.gateway_id },
    ]);
    expect(await jobsOf(() => patch({ heartbeat_config: { every: "16m" }, name: "Anna" }))).toMatchObject([updateJob(ann.id)]);
    expect(await jobsOf(() => patch({ requests_per_minute: 60 }))).toEqual([]);
    expect((await rowOf()).requests_per_minute).toBe(60);
  });

  test("the parameter force rewrites all files of an agent, whether or not a field changes", async () => {
    expect(await jobsOf(() => patch({}, "?force=yes"))).toMatchObject([updateJob(ann.id, true)]);
    expect(await jobsOf(() => patch({ heartbeat_config: { every: "9m" } }, "?force=1"))).toMatchObject([updateJob(ann.id, true)]);
    expect((await patch({}, "?force=perhaps")).body.detail).toMatchObject([{ loc: ["query", "force"] }]);
  });

  test("a changed name must be unique on the board, ignoring case", async () => {
    await manage.addAgent({ name: "Zoë", board_id });
    const detail = "An agent with this name already exists on this board.";
    expect(statusAndBody(await patch({ name: "ZOË" }))).toEqual([409, { detail }]);
    expect((await patch({ name: "ANN" })).body.name).toBe("ANN");
  });
});

describe("access to changing an agent", () => {
  test("any admin can change a main agent", async () => {
    const main = (await manage.mainOf(home.gateway_id))!;
    expect((await patch({ name: "Guide" }, "", main.id, { token: reader.token })).body).toMatchObject({
      name: "Guide",
      board_id: null,
      is_gateway_main: true,
    });
    expect((await patch({ name: "Guide" }, "", main.id, { token: abroad.owner.token })).status).toBe(404);
  });
});
