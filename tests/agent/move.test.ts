import { agents, boards, tasks } from "@board/core/schema/all-tables";
import { unseal } from "@board/core/values/seal";
import { asc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { manageAgents, updateJob } from "./manage-agents.ts";
import { type CallOptions, statusAndBody } from "../support/http.ts";
import { listJobsCreatedBy } from "../support/jobs.ts";
import { createWorld } from "../support/world.ts";

/** A board on the tenant's gateway, new for each test. */
let board_id: string;

const world = await setupWorld();
const home = await world.tenant("home");
const manage = manageAgents(world, home);
const abroad = await world.tenant("abroad");
const gateway_id = await manage.addGateway();
/** A second gateway of the home organization, and a board on it. */
const otherGateway: { gateway_id: string; board_id: string } = { gateway_id, board_id: await manage.addBoard({ gateway_id }) };

beforeEach(async () => {
  board_id = await manage.addBoard();
});
const ann = renew(() => manage.addAgent({ name: "Ann", board_id }));

const patch = (body: object, query = "", id = ann.id, options?: CallOptions) => manage.patch(id, body, query, options);
const rowOf = () => manage.row(ann.id);
const jobsOf = (work: () => Promise<unknown>) => listJobsCreatedBy(world, work);

describe("moving an agent to a board of the same gateway", () => {
  test("a moved worker keeps its session and token, and its files are updated", async () => {
    const next = await manage.addBoard();
    const queued = await jobsOf(async () => {
      expect((await patch({ board_id: next.toUpperCase() })).body).toMatchObject({
        board_id: next,
        gateway_id: home.gateway_id,
        openclaw_session_id: ann.openclaw_session_id,
      });
    });
    expect(queued).toMatchObject([updateJob(ann.id)]);
    const health = await world.call("GET", "/api/v1/agent/healthz", { agent: ann.auth_token });
    expect(health.body).toMatchObject({ agent_id: ann.id, board_id: next });
  });

  test("a moved lead becomes a worker with a new session of its own", async () => {
    const lead = await manage.addAgent({ name: "Lead", board_id, is_board_lead: true });
    const next = await manage.addBoard();
    const openclaw_session_id = `agent:mc-${lead.id}:main`;
    const queued = await jobsOf(async () => {
      const moved = await patch({ board_id: next }, "", lead.id);
      expect(moved.body).toMatchObject({ board_id: next, is_board_lead: false, openclaw_session_id, status: "provisioning" });
    });
    expect(queued).toMatchObject([
      { kind: "agent.provision", lane: `${home.gateway_id}/mc-${lead.id}` },
      { kind: "agent.cleanup", payload: { session_key: lead.openclaw_session_id } },
    ]);
    expect(await manage.addAgent({ name: "Next lead", board_id, is_board_lead: true })).toMatchObject({ is_board_lead: true });
  });

  test("the target board of a moved agent must exist, be writable, have room and have no agent with the same name", async () => {
    const named = await manage.addBoard();
    await manage.addAgent({ name: "ann", board_id: named });
    expect(statusAndBody(await patch({ board_id: null }))).toEqual([422, { detail: "board_id is required" }]);
    for (const id of [abroad.board_id, crypto.randomUUID()])
      expect(statusAndBody(await patch({ board_id: id }))).toEqual([404, { detail: "Not Found" }]);
    const detail = "Board has reached its agent limit (max_agents=0, excluding the lead).";
    expect(statusAndBody(await patch({ board_id: await manage.addBoard({ max_agents: 0 }) }))).toEqual([409, { detail }]);
    const taken = "An agent with this name already exists on this board.";
    expect(statusAndBody(await patch({ board_id: named }))).toEqual([409, { detail: taken }]);
    expect((await patch({ board_id: named, name: "Ann of B" })).body).toMatchObject({ board_id: named, name: "Ann of B" });
  });

  test("a person who may not write to the target board cannot move an agent there", async () => {
    const limitedAdmin = await world.person("half");
    const member_id = await world.join(limitedAdmin, home.organization_id, "admin");
    const board_access = [{ board_id, can_write: true }];
    const access = `/organizations/me/members/${member_id}/access`;
    const grant = (body: object) => world.call("PUT", access, { token: home.owner.token, body });
    await grant({ board_access });
    const next = await manage.addBoard();
    const move = () => patch({ board_id: next }, "", ann.id, { token: limitedAdmin.token });
    expect(statusAndBody(await move())).toEqual([404, { detail: "Not Found" }]);
    await grant({ board_access: [...board_access, { board_id: next, can_read: true }] });
    expect(statusAndBody(await move())).toEqual([403, { detail: "Board access denied" }]);
    expect((await rowOf()).board_id).toBe(board_id);
  });

  test("not even a member of both organizations can move an agent from one to the other", async () => {
    await world.join(home.owner, abroad.organization_id, "member", { write: true });
    await world.call("PATCH", "/organizations/me/active", {
      token: home.owner.token,
      body: { organization_id: home.organization_id },
    });
    expect((await world.call("GET", "/organizations/me", { token: home.owner.token })).body.id).toBe(home.organization_id);
    expect(statusAndBody(await patch({ board_id: abroad.board_id }))).toEqual([404, { detail: "Not Found" }]);
  });

  test("tasks of a moved agent are unassigned", async () => {
    const [open, done] = await world.db
      .insert(tasks)
      .values([
        { board_id, title: "Open", status: "in_progress", assigned_agent_id: ann.id, in_progress_at: world.now() },
        { board_id, title: "Done", status: "done", assigned_agent_id: ann.id },
      ])
      .returning();
    await patch({ name: "Anna" });
    const state = async () => world.db.select().from(tasks).where(eq(tasks.board_id, board_id)).orderBy(asc(tasks.title));
    expect(await state()).toMatchObject([{ id: done!.id, assigned_agent_id: ann.id }, { status: "in_progress" }]);
    await patch({ board_id: await manage.addBoard() });
    expect(await state()).toMatchObject([
      { id: done!.id, status: "done", assigned_agent_id: null },
      { id: open!.id, status: "inbox", assigned_agent_id: null, in_progress_at: null },
    ]);
  });
});

describe("moving an agent to another gateway", () => {
  test("an agent that moves to another gateway is provisioned with a new token on the new host, and removed from the old host", async () => {
    await patch({ name: "Anna" });
    const before = await rowOf();
    await world.db.update(agents).set({ status: "ready", last_provision_error: "old" }).where(eq(agents.id, ann.id));
    const queued = await jobsOf(async () => {
      expect((await patch({ board_id: otherGateway.board_id })).body).toMatchObject({
        board_id: otherGateway.board_id,
        gateway_id: otherGateway.gateway_id,
        openclaw_session_id: ann.openclaw_session_id,
        status: "provisioning",
        last_provision_error: null,
      });
    });
    const generation = before.lifecycle_generation + 1;
    expect(queued).toMatchObject([
      {
        kind: "agent.provision",
        gateway_id: otherGateway.gateway_id,
        lane: `${otherGateway.gateway_id}/mc-${ann.id}`,
        payload: { agent_id: ann.id, generation, user_id: expect.any(String), reset: true, wake: true },
      },
      {
        kind: "agent.cleanup",
        gateway_id: home.gateway_id,
        lane: `${home.gateway_id}/mc-${ann.id}`,
        payload: { gateway_id: home.gateway_id, session_key: ann.openclaw_session_id, agent_name: "Anna" },
      },
    ]);
    const token = unseal(world.settings.encryption_key, queued[0]!.secret_sealed!);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const { agent_token_hash, agent_token_lookup } = before;
    expect(await rowOf()).toMatchObject({ agent_token_hash, agent_token_lookup, lifecycle_generation: generation });
    const health = (agent: string) => world.call("GET", "/api/v1/agent/healthz", { agent });
    expect([(await health(ann.auth_token)).status, (await health(token)).status]).toEqual([200, 401]);
  });
});

describe("making an agent a gateway's main agent", () => {
  const taken = { detail: "Gateway already has a main agent." };

  test("a gateway that has a main agent refuses a second one", async () => {
    expect(statusAndBody(await patch({ is_gateway_main: true }))).toEqual([409, taken]);
    expect(statusAndBody(await patch({ is_gateway_main: true, board_id: otherGateway.board_id }))).toEqual([409, taken]);
    expect((await rowOf()).board_id).toBe(board_id);
  });

  test("an agent can become the main agent of a gateway that has none, and then a board agent again", async () => {
    const gateway_id = await manage.addGateway();
    const home_board = await manage.addBoard({ gateway_id });
    const main = (await manage.mainOf(gateway_id))!;
    await world.call("DELETE", `/api/v1/agents/${main.id}`, { token: home.owner.token });
    const openclaw_session_id = `agent:mc-gateway-${gateway_id}:main`;
    const queued = await jobsOf(async () => {
      expect((await patch({ is_gateway_main: true, board_id: home_board })).body).toMatchObject({
        board_id: null,
        gateway_id,
        is_gateway_main: true,
        is_board_lead: false,
        openclaw_session_id,
      });
    });
    expect(queued).toMatchObject([
      { kind: "agent.provision", gateway_id, lane: `${gateway_id}/mc-gateway-${gateway_id}` },
      { kind: "agent.cleanup", gateway_id: home.gateway_id, payload: { session_key: ann.openclaw_session_id } },
    ]);
    expect(await jobsOf(() => patch({ is_gateway_main: true }))).toEqual([]);

    const back = await patch({ is_gateway_main: false, board_id: home_board });
    expect(back.body).toMatchObject({
      board_id: home_board,
      gateway_id,
      is_gateway_main: false,
      openclaw_session_id: `agent:mc-${ann.id}:main`,
    });
  });

  test("a main agent becomes a board agent only if the request names a target board that has room", async () => {
    const main = (await manage.mainOf(otherGateway.gateway_id))!;
    for (const body of [{ is_gateway_main: false }, { is_gateway_main: false, board_id: null }])
      expect(statusAndBody(await patch(body, "", main.id))).toEqual([422, { detail: "board_id is required" }]);
    const full = await manage.addBoard({ max_agents: 0 });
    expect((await patch({ is_gateway_main: false, board_id: full }, "", main.id)).status).toBe(409);
  });

  test("a board id alone does not move a main agent", async () => {
    const main = (await manage.mainOf(otherGateway.gateway_id))!;
    const queued = await jobsOf(async () => {
      for (const sent of [otherGateway.board_id, board_id, abroad.board_id, null])
        expect((await patch({ board_id: sent }, "", main.id)).body).toMatchObject({
          board_id: null,
          gateway_id: otherGateway.gateway_id,
        });
    });
    expect(queued).toEqual([]);
    expect(await jobsOf(() => patch({ soul_template: "Calm" }, "", main.id))).toMatchObject([updateJob(main.id)]);
  });
});

test("a board's agent limit holds for concurrent moves", async () => {
  const next = await manage.addBoard({ max_agents: 1 });
  const others = await Promise.all([manage.addAgent({ name: "B", board_id }), manage.addAgent({ name: "C", board_id })]);
  const moves = await Promise.all([ann, ...others].map(({ id }) => patch({ board_id: next }, "", id)));
  expect(moves.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  const [board] = await world.db.select().from(boards).where(eq(boards.id, next));
  expect(await world.db.select().from(agents).where(eq(agents.board_id, next))).toHaveLength(board!.max_agents);
});

test("the old token of a moved agent works until its files on the new host contain the new token", async () => {
  const hostedWorld = await createWorld();
  const options = { token: "test-token-123", dialect: "2026.9.6" as const };
  const [from, to] = [await startFakeGateway(options), await startFakeGateway(options)];
  onTestFinished(async () => void (await Promise.all([hostedWorld.close(), from.close(), to.close()])));
  const { owner, worker } = await hostedWorld.tenant("mover", from.url);
  await hostedWorld.drain();
  const post = async (path: string, body: object) => (await hostedWorld.call("POST", path, { token: owner.token, body })).body.id;
  const host = { name: "To", url: to.url, workspace_root: "/srv/agents", token: "test-token-123" };
  const gateway_id = await post("/api/v1/gateways", host);
  const target = await post("/api/v1/boards", { name: "To", description: "B", gateway_id });
  const health = (agent: string) => hostedWorld.call("GET", "/api/v1/agent/healthz", { agent });
  await hostedWorld.call("PATCH", `/api/v1/agents/${worker.id}`, { token: owner.token, body: { board_id: target } });
  expect((await health(worker.token)).body).toMatchObject({ board_id: target, gateway_id });
  await hostedWorld.drain();
  const folder = `/srv/agents/workspace-mc-${worker.id}`;
  const token = /^AUTH_TOKEN=(\S+)$/m.exec(to.host.files.get(folder)!.get("AGENTS.md")!.content)![1]!;
  expect([(await health(worker.token)).status, (await health(token)).body?.board_id]).toEqual([401, target]);
  expect(from.host.files.has(folder)).toBe(false);
});
