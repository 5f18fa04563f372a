import { agents } from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { type CallOptions, statusAndBody } from "../support/http.ts";
import { actAsMainAgent } from "../support/main-agent.ts";

const MISSED = [404, { detail: "Not Found" }];

/** A second gateway of the home organization with a board and an agent on it. */
const second = { gateway_id: "", board_id: "", agent_id: "", main_id: "" };

const create = async (path: string, body: object) => (await world.call("POST", path, { token: home.owner.token, body })).body;
const mainOf = async (gateway_id: string) => {
  const [row] = await world.db
    .select()
    .from(agents)
    .where(and(eq(agents.gateway_id, gateway_id), isNull(agents.board_id)));
  return row!.id;
};

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const main = await actAsMainAgent(world, home.gateway_id);
const gateway = { name: "Second", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
second.gateway_id = (await create("/api/v1/gateways", gateway)).id;
second.board_id = (await create("/api/v1/boards", { name: "Second", description: "B", gateway_id: second.gateway_id })).id;
second.agent_id = (await create("/api/v1/agents", { name: "Second", board_id: second.board_id })).id;
second.main_id = await mainOf(second.gateway_id);

const get = (path: string, options: CallOptions = { token: home.owner.token }) => world.call("GET", path, options);
const ids = async (path: string, options?: CallOptions) =>
  (await get(path, options)).body.items.map((agent: { id: string }) => agent.id);

describe("agents listed for people", () => {
  const path = "/api/v1/agents";

  test("people see the agents of the boards that they may read and the organization's main agents, newest first", async () => {
    const newestFirst = [second.agent_id, second.main_id, home.worker.id, home.lead.id, main.id];
    const page = (await get(path)).body;
    expect(page).toMatchObject({ total: 5, limit: 200, offset: 0 });
    expect(await ids(path)).toEqual(newestFirst);
    expect(await ids(`${path}?limit=2&offset=1`)).toEqual(newestFirst.slice(1, 3));
    expect((await get(`${path}?limit=2&offset=9`)).body).toEqual({ items: [], total: 5, limit: 2, offset: 9 });
  });

  test("agents can be filtered by board, or by gateway including its main agent", async () => {
    expect(await ids(`${path}?board_id=${home.board_id}`)).toEqual([home.worker.id, home.lead.id]);
    expect(await ids(`${path}?gateway_id=${home.gateway_id}`)).toEqual([home.worker.id, home.lead.id, main.id]);
    expect(await ids(`${path}?gateway_id=${second.gateway_id}`)).toEqual([second.agent_id, second.main_id]);
    expect(await ids(`${path}?gateway_id=${second.gateway_id}&board_id=${home.board_id}`)).toEqual([]);
  });

  test("a filter by a board or gateway that the person cannot see gives 404", async () => {
    for (const query of [`board_id=${abroad.board_id}`, `gateway_id=${abroad.gateway_id}`])
      expect(statusAndBody(await get(`${path}?${query}`))).toEqual(MISSED);
    for (const name of ["board_id", "gateway_id"]) {
      expect(statusAndBody(await get(`${path}?${name}=${crypto.randomUUID()}`))).toEqual(MISSED);
      expect((await get(`${path}?${name}=x`)).status).toBe(422);
    }
  });

  test("an admin without board rights sees main agents only", async () => {
    const admin = await world.member("admin", home, "admin");
    const as = { token: admin.token };
    expect(await ids(path, as)).toEqual([second.main_id, main.id]);
    expect((await get(`${path}/${main.id}`, as)).status).toBe(200);
    for (const hidden of [`${path}/${home.worker.id}`, `${path}?board_id=${home.board_id}`])
      expect(statusAndBody(await get(hidden, as))).toEqual(MISSED);
  });

  test("an agent is read by its id", async () => {
    const answer = await get(`${path}/${home.worker.id.toUpperCase()}`);
    expect(answer.body).toMatchObject({ id: home.worker.id, board_id: home.board_id, is_gateway_main: false });
    expect((await get(`${path}/${main.id}`)).body).toMatchObject({ board_id: null, is_gateway_main: true, is_board_lead: false });
  });
});

describe("agents listed for agents", () => {
  const path = "/api/v1/agent/agents";

  test("an agent lists the agents of its board, and a main agent lists itself and the agents of its gateway's boards", async () => {
    for (const { token } of [home.lead, home.worker])
      expect(await ids(path, { agent: token })).toEqual([home.worker.id, home.lead.id]);
    expect(await ids(path, { agent: main.token })).toEqual([home.worker.id, home.lead.id, main.id]);
    expect((await get(`${path}?limit=1&offset=1`, { agent: main.token })).body).toMatchObject({ total: 3, limit: 1, offset: 1 });
  });

  test("a main agent can filter the list by a board of its gateway", async () => {
    const body = { name: "Empty", description: "B", gateway_id: home.gateway_id };
    const empty = await create("/api/v1/boards", body);
    expect(await ids(`${path}?board_id=${home.board_id}`, { agent: main.token })).toEqual([home.worker.id, home.lead.id]);
    expect(await ids(`${path}?board_id=${empty.id}`, { agent: main.token })).toEqual([]);
  });
});
