import { agents, board_groups } from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const call = (method: string, path: string, body?: unknown, token = home.owner.token) =>
  world.call(method, path, { token, body });
const create = (changed: object = {}, token = home.owner.token) =>
  call("POST", "/api/v1/boards", { name: "Board", description: "A board", gateway_id: home.gateway_id, ...changed }, token);
const patch = (id: string, changed: object) => call("PATCH", `/api/v1/boards/${id}`, changed);
const addGateway = async (token = home.owner.token) =>
  (await call("POST", "/api/v1/gateways", { name: "Other", url: "ws://127.0.0.1:9", workspace_root: "/srv" }, token)).body.id;
const addGroup = async (organization_id: string) =>
  (await world.db.insert(board_groups).values({ organization_id, name: "Group", slug: crypto.randomUUID() }).returning())[0]!.id;

describe("creating a board", () => {
  test("a new board has default settings", async () => {
    const created = await create({
      name: " Launch ",
      description: " Ship it ",
      id: "x",
      organization_id: abroad.organization_id,
    });
    expect(created.body).toEqual({
      id: expect.any(String),
      organization_id: home.organization_id,
      name: "Launch",
      slug: "launch",
      description: "Ship it",
      gateway_id: home.gateway_id,
      board_group_id: null,
      board_type: "goal",
      objective: null,
      success_metrics: null,
      target_date: null,
      goal_confirmed: false,
      goal_source: null,
      require_approval_for_done: true,
      require_review_before_done: false,
      comment_required_for_review: false,
      block_status_changes_with_pending_approval: false,
      only_lead_can_change_status: false,
      max_agents: 1,
      escalate_after_minutes: null,
      created_at: expect.any(String),
      updated_at: created.body.created_at,
    });
    expect((await call("GET", `/api/v1/boards/${created.body.id}`)).body).toEqual(created.body);
  });

  test("a board stores every field that is sent, and PATCH changes each of them", async () => {
    const fields = {
      name: "Full",
      slug: "full-board",
      description: "All fields",
      board_group_id: await addGroup(home.organization_id),
      board_type: "ops",
      objective: "Win",
      success_metrics: { users: { target: 10 }, note: null },
      target_date: "2026-12-31T00:00:00.000Z",
      goal_confirmed: true,
      goal_source: "ai_generated",
      require_approval_for_done: false,
      require_review_before_done: true,
      comment_required_for_review: true,
      block_status_changes_with_pending_approval: true,
      only_lead_can_change_status: true,
      max_agents: 0,
      escalate_after_minutes: 15,
    };
    expect((await create(fields)).body).toMatchObject(fields);
    const other = (await create({ name: "Empty" })).body;
    expect((await patch(other.id, { ...fields, slug: "full-too" })).body).toMatchObject({ ...fields, slug: "full-too" });
    const cleared = { board_group_id: null, objective: null, success_metrics: null, target_date: null, goal_source: null };
    expect((await patch(other.id, cleared)).body).toMatchObject(cleared);
  });

  test.each([
    [{ description: undefined }, "missing", "Field required"],
    [{ description: null }, "value_error", "Value error, description is required"],
    [{ description: "  " }, "value_error", "Value error, description is required"],
    [{ gateway_id: undefined }, "missing", "Field required"],
    [{ gateway_id: null }, "value_error", "Value error, gateway_id is required"],
    [{ goal_source: "guess" }, "literal_error", "Input should be 'user' or 'ai_generated'"],
    [{ board_type: null }, "literal_error", "Input should be 'goal', 'project', 'ops' or 'general'"],
  ])("a new board with %j is refused", async (changed, type, msg) => {
    const answer = await create(changed);
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type, loc: ["body", Object.keys(changed)[0]], msg }]]);
  });

  test.each(["goal", "project", "ops", "general"])("a board can have the type %s", async (board_type) => {
    expect((await create({ board_type })).body.board_type).toBe(board_type);
  });
});

describe("a board's gateway and group", () => {
  test("a board's gateway and group must belong to the organization", async () => {
    const board = (await create()).body;
    const stranger = crypto.randomUUID();
    for (const gateway_id of [abroad.gateway_id, stranger])
      for (const answer of [await create({ gateway_id }), await patch(board.id, { gateway_id })])
        expect([answer.status, answer.body]).toEqual([422, { detail: "gateway_id is invalid" }]);
    for (const board_group_id of [await addGroup(abroad.organization_id), stranger])
      for (const answer of [await create({ board_group_id }), await patch(board.id, { board_group_id })])
        expect([answer.status, answer.body]).toEqual([422, { detail: "board_group_id is invalid" }]);
    expect((await call("GET", `/api/v1/boards/${board.id}`)).body).toEqual(board);
  });

  test("a board's new gateway must have its main agent", async () => {
    const gateway_id = await addGateway();
    await world.db.delete(agents).where(and(eq(agents.gateway_id, gateway_id), isNull(agents.board_id)));
    const board = (await create()).body;
    const detail = "gateway must have a gateway main agent before boards can be created or updated";
    for (const answer of [await create({ gateway_id }), await patch(board.id, { gateway_id })])
      expect([answer.status, answer.body]).toEqual([422, { detail }]);
  });

  test("a board's gateway can change only while the board has no agents", async () => {
    const gateway_id = await addGateway();
    const empty = (await create()).body;
    expect((await patch(empty.id, { gateway_id })).body.gateway_id).toBe(gateway_id);
    const refused = await patch(home.board_id, { gateway_id });
    const detail = "Board has agents on its current gateway; move or delete them first.";
    expect([refused.status, refused.body]).toEqual([409, { detail }]);
    expect((await patch(home.board_id, { gateway_id: home.gateway_id })).status).toBe(200);
  });
});

describe("confirmed goals of a board", () => {
  const detail = "Confirmed goal boards require objective and success_metrics";
  const goal = { objective: "Win", success_metrics: { users: 10 } };

  test.each([
    [{}, 422],
    [{ objective: "Win" }, 422],
    [{ success_metrics: { users: 10 } }, 422],
    [{ ...goal, objective: "  " }, 422],
    [{ ...goal, success_metrics: {} }, 422],
    [{ board_type: "project" }, 200],
    [goal, 200],
  ])("a new board with goal_confirmed and %j gives %i", async (changed, status) => {
    const answer = await create({ goal_confirmed: true, ...changed });
    expect([answer.status, answer.body.detail]).toEqual([status, status === 422 ? detail : undefined]);
  });

  test("a confirmed goal needs objective and success metrics in the state that a change leads to, and an unconfirmed goal does not", async () => {
    const { id } = (await create({ name: "Goal" })).body;
    expect((await patch(id, { goal_confirmed: true })).body).toEqual({ detail });
    expect((await patch(id, goal)).status).toBe(200);
    expect((await patch(id, { goal_confirmed: true })).status).toBe(200);
    expect((await patch(id, { objective: null })).body).toEqual({ detail });
    expect((await patch(id, { success_metrics: null })).body).toEqual({ detail });
    expect((await patch(id, { success_metrics: null, goal_confirmed: false })).status).toBe(200);
    expect((await patch(id, { goal_confirmed: true, board_type: "general" })).status).toBe(200);
    expect((await patch(id, { board_type: "goal" })).body).toEqual({ detail });
  });
});

describe("changing a board", () => {
  test.each(["", "  "])("a blank board type %j in a change leaves the board's type unchanged", async (blank) => {
    const { id } = (await create({ board_type: "ops" })).body;
    const changed = await patch(id, { board_type: blank, objective: "Win" });
    expect([changed.status, changed.body]).toMatchObject([200, { board_type: "ops", objective: "Win" }]);
    for (const board_type of ["other", null, 5]) expect((await patch(id, { board_type })).status).toBe(422);
    expect((await create({ board_type: blank })).status).toBe(422);
  });

  test("the keys of success metrics keep their order, even when only the order changes", async () => {
    const metrics = (board: { success_metrics: object }) => JSON.stringify(board.success_metrics);
    const success_metrics = { signups: 10, churn: { max: 5, a: 1 }, b: 2 };
    const { body } = await create({ success_metrics });
    expect(metrics(body)).toBe(JSON.stringify(success_metrics));
    const reordered = { b: 2, churn: { a: 1, max: 5 }, signups: 10 };
    expect(metrics((await patch(body.id, { success_metrics: reordered })).body)).toBe(JSON.stringify(reordered));
    expect(metrics((await call("GET", `/api/v1/boards/${body.id}`)).body)).toBe(JSON.stringify(reordered));
  });

  test("a change of a board to its current values does not change the row", async () => {
    const board = (await create({ success_metrics: { a: 1 }, target_date: "2026-12-31" })).body;
    const { id, name, slug, description, gateway_id, success_metrics, target_date, max_agents } = board;
    const same = { name, slug, description, gateway_id, success_metrics, target_date, max_agents };
    for (const changed of [{}, { unknown: 1, id: abroad.board_id }, same, { name: ` ${name} ` }])
      expect((await patch(id, changed)).body).toEqual(board);
    const changed_board = (await patch(id, { max_agents: 7 })).body;
    expect(changed_board).toEqual({ ...board, max_agents: 7, updated_at: expect.any(String) });
    expect(Date.parse(changed_board.updated_at)).toBeGreaterThan(Date.parse(board.updated_at));
  });

  test("a change of a board is stored as a whole or not at all", async () => {
    const board = (await create()).body;
    expect((await patch(board.id, { name: "Half", board_group_id: crypto.randomUUID() })).status).toBe(422);
    expect((await call("GET", `/api/v1/boards/${board.id}`)).body).toEqual(board);
  });
});
