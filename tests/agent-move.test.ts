import { agents, boards, tasks } from "@board/core/db/schema";
import { unseal } from "@board/core/seal";
import { asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { manageAgents, updateJob } from "./support/agent.ts";
import { type CallOptions, told } from "./support/http.ts";
import { jobsLeftBy } from "./support/jobs.ts";
import type { NewAgent } from "./support/provisioning.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;
let abroad: Tenant;
let desk: ReturnType<typeof manageAgents>;
/** A second gateway of the home organization, and a board on it. */
let away: { gateway_id: string; board_id: string };
/** A worker of a board of its own, on the tenant's gateway. */
let board_id: string;
let ann: NewAgent;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
  desk = manageAgents(world, home);
  abroad = await world.tenant("abroad");
  const gateway_id = await desk.addGateway();
  away = { gateway_id, board_id: await desk.addBoard({ gateway_id }) };
});
afterAll(() => world.close());
beforeEach(async () => {
  board_id = await desk.addBoard();
  ann = await desk.addAgent({ name: "Ann", board_id });
});

const patch = (body: object, query = "", id = ann.id, options?: CallOptions) => desk.patch(id, body, query, options);
const rowOf = () => desk.row(ann.id);
const jobsOf = (work: () => Promise<unknown>) => jobsLeftBy(world, work);

describe("another board of the same gateway", () => {
  test("takes a worker in with its session and token; its files follow", async () => {
    const next = await desk.addBoard();
    const found = await jobsOf(async () => {
      expect((await patch({ board_id: next.toUpperCase() })).body).toMatchObject({
        board_id: next,
        gateway_id: home.gateway_id,
        openclaw_session_id: ann.openclaw_session_id,
      });
    });
    expect(found).toMatchObject([updateJob(ann.id)]);
    const health = await world.call("GET", "/api/v1/agent/healthz", { agent: ann.auth_token });
    expect(health.body).toMatchObject({ agent_id: ann.id, board_id: next });
  });

  test("takes a lead in as a worker, with a session of its own", async () => {
    const lead = await desk.addAgent({ name: "Lead", board_id, is_board_lead: true });
    const next = await desk.addBoard();
    const openclaw_session_id = `agent:mc-${lead.id}:main`;
    const found = await jobsOf(async () => {
      const moved = await patch({ board_id: next }, "", lead.id);
      expect(moved.body).toMatchObject({ board_id: next, is_board_lead: false, openclaw_session_id, status: "provisioning" });
    });
    expect(found).toMatchObject([
      { kind: "agent.provision", lane: `${home.gateway_id}/mc-${lead.id}` },
      { kind: "agent.cleanup", payload: { session_key: lead.openclaw_session_id } },
    ]);
    expect(await desk.addAgent({ name: "Next lead", board_id, is_board_lead: true })).toMatchObject({ is_board_lead: true });
  });

  test("must be there, writable and have room, and a name that is free", async () => {
    const named = await desk.addBoard();
    await desk.addAgent({ name: "ann", board_id: named });
    expect(told(await patch({ board_id: null }))).toEqual([422, { detail: "board_id is required" }]);
    for (const id of [abroad.board_id, crypto.randomUUID()])
      expect(told(await patch({ board_id: id }))).toEqual([404, { detail: "Not Found" }]);
    const detail = "Board has reached its agent limit (max_agents=0, excluding the lead).";
    expect(told(await patch({ board_id: await desk.addBoard({ max_agents: 0 }) }))).toEqual([409, { detail }]);
    const taken = "An agent with this name already exists on this board.";
    expect(told(await patch({ board_id: named }))).toEqual([409, { detail: taken }]);
    expect((await patch({ board_id: named, name: "Ann of B" })).body).toMatchObject({ board_id: named, name: "Ann of B" });
  });

  test("is out of reach for those who may not write to it", async () => {
    const half = await world.person("half");
    const member_id = await world.join(half, home.organization_id, "admin");
    const board_access = [{ board_id, can_write: true }];
    const access = `/organizations/me/members/${member_id}/access`;
    const grant = (body: object) => world.call("PUT", access, { token: home.owner.token, body });
    await grant({ board_access });
    const next = await desk.addBoard();
    const move = () => patch({ board_id: next }, "", ann.id, { token: half.token });
    expect(told(await move())).toEqual([404, { detail: "Not Found" }]);
    await grant({ board_access: [...board_access, { board_id: next, can_read: true }] });
    expect(told(await move())).toEqual([403, { detail: "Board access denied" }]);
    expect((await rowOf()).board_id).toBe(board_id);
  });

  test("in another organization is out of reach, also for a member of both", async () => {
    await world.join(home.owner, abroad.organization_id, "member", { write: true });
    await world.call("PATCH", "/organizations/me/active", {
      token: home.owner.token,
      body: { organization_id: home.organization_id },
    });
    expect((await world.call("GET", "/organizations/me", { token: home.owner.token })).body.id).toBe(home.organization_id);
    expect(told(await patch({ board_id: abroad.board_id }))).toEqual([404, { detail: "Not Found" }]);
  });

  test("has nothing of the agent's old tasks: they are free for others", async () => {
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
    await patch({ board_id: await desk.addBoard() });
    expect(await state()).toMatchObject([
      { id: done!.id, status: "done", assigned_agent_id: null },
      { id: open!.id, status: "inbox", assigned_agent_id: null, in_progress_at: null },
    ]);
  });
});

describe("another gateway", () => {
  test("gets the agent as a new one: with a new token, and removed from where it was", async () => {
    await patch({ name: "Anna" });
    const before = await rowOf();
    await world.db.update(agents).set({ status: "ready", last_provision_error: "old" }).where(eq(agents.id, ann.id));
    const found = await jobsOf(async () => {
      expect((await patch({ board_id: away.board_id })).body).toMatchObject({
        board_id: away.board_id,
        gateway_id: away.gateway_id,
        openclaw_session_id: ann.openclaw_session_id,
        status: "provisioning",
        last_provision_error: null,
      });
    });
    const generation = before.lifecycle_generation + 1;
    expect(found).toMatchObject([
      {
        kind: "agent.provision",
        gateway_id: away.gateway_id,
        lane: `${away.gateway_id}/mc-${ann.id}`,
        payload: { agent_id: ann.id, generation, user_id: expect.any(String), reset: true, wake: true },
      },
      {
        kind: "agent.cleanup",
        gateway_id: home.gateway_id,
        lane: `${home.gateway_id}/mc-${ann.id}`,
        payload: { gateway_id: home.gateway_id, session_key: ann.openclaw_session_id, agent_name: "Anna" },
      },
    ]);
    const token = unseal(world.settings.encryption_key, found[0]!.secret_sealed!);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const { agent_token_hash, agent_token_lookup } = before;
    expect(await rowOf()).toMatchObject({ agent_token_hash, agent_token_lookup, lifecycle_generation: generation });
    const health = (agent: string) => world.call("GET", "/api/v1/agent/healthz", { agent });
    expect([(await health(ann.auth_token)).status, (await health(token)).status]).toEqual([200, 401]);
  });
});

describe("a gateway's main agent", () => {
  const taken = { detail: "Gateway already has a main agent." };

  test("there is one: nobody else becomes it", async () => {
    expect(told(await patch({ is_gateway_main: true }))).toEqual([409, taken]);
    expect(told(await patch({ is_gateway_main: true, board_id: away.board_id }))).toEqual([409, taken]);
    expect((await rowOf()).board_id).toBe(board_id);
  });

  test("becomes an agent that is made it where there is none", async () => {
    const gateway_id = await desk.addGateway();
    const home_board = await desk.addBoard({ gateway_id });
    const main = (await desk.mainOf(gateway_id))!;
    await world.call("DELETE", `/api/v1/agents/${main.id}`, { token: home.owner.token });
    const openclaw_session_id = `agent:mc-gateway-${gateway_id}:main`;
    const found = await jobsOf(async () => {
      expect((await patch({ is_gateway_main: true, board_id: home_board })).body).toMatchObject({
        board_id: null,
        gateway_id,
        is_gateway_main: true,
        is_board_lead: false,
        openclaw_session_id,
      });
    });
    expect(found).toMatchObject([
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

  test("becomes a board agent only with a board to go to", async () => {
    const main = (await desk.mainOf(away.gateway_id))!;
    for (const body of [{ is_gateway_main: false }, { is_gateway_main: false, board_id: null }])
      expect(told(await patch(body, "", main.id))).toEqual([422, { detail: "board_id is required" }]);
    const full = await desk.addBoard({ max_agents: 0 });
    expect((await patch({ is_gateway_main: false, board_id: full }, "", main.id)).status).toBe(409);
  });

  test("goes nowhere by a board alone", async () => {
    const main = (await desk.mainOf(away.gateway_id))!;
    const found = await jobsOf(async () => {
      for (const sent of [away.board_id, board_id, abroad.board_id, null])
        expect((await patch({ board_id: sent }, "", main.id)).body).toMatchObject({
          board_id: null,
          gateway_id: away.gateway_id,
        });
    });
    expect(found).toEqual([]);
    expect(await jobsOf(() => patch({ soul_template: "Calm" }, "", main.id))).toMatchObject([updateJob(main.id)]);
  });
});

test("a board's limit is counted at the moment of the move", async () => {
  const next = await desk.addBoard({ max_agents: 1 });
  const others = await Promise.all([desk.addAgent({ name: "B", board_id }), desk.addAgent({ name: "C", board_id })]);
  const moves = await Promise.all([ann, ...others].map(({ id }) => patch({ board_id: next }, "", id)));
  expect(moves.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  const [board] = await world.db.select().from(boards).where(eq(boards.id, next));
  expect(await world.db.select().from(agents).where(eq(agents.board_id, next))).toHaveLength(board!.max_agents);
});

test("a moved agent has a new token as soon as its files are there, and only then is the old one void", async () => {
  const own = await createWorld();
  const options = { token: "test-token-123", dialect: "2026.9.6" as const };
  const [from, to] = [await startFakeGateway(options), await startFakeGateway(options)];
  onTestFinished(async () => void (await Promise.all([own.close(), from.close(), to.close()])));
  const { owner, worker } = await own.tenant("mover", from.url);
  await own.drain();
  const post = async (path: string, body: object) => (await own.call("POST", path, { token: owner.token, body })).body.id;
  const host = { name: "To", url: to.url, workspace_root: "/srv/agents", token: "test-token-123" };
  const gateway_id = await post("/api/v1/gateways", host);
  const target = await post("/api/v1/boards", { name: "To", description: "B", gateway_id });
  const health = (agent: string) => own.call("GET", "/api/v1/agent/healthz", { agent });
  await own.call("PATCH", `/api/v1/agents/${worker.id}`, { token: owner.token, body: { board_id: target } });
  expect((await health(worker.token)).body).toMatchObject({ board_id: target, gateway_id });
  await own.drain();
  const folder = `/srv/agents/workspace-mc-${worker.id}`;
  const token = /^AUTH_TOKEN=(\S+)$/m.exec(to.host.files.get(folder)!.get("AGENTS.md")!.content)![1]!;
  expect([(await health(worker.token)).status, (await health(token)).body?.board_id]).toEqual([401, target]);
  expect(from.host.files.has(folder)).toBe(false);
});
