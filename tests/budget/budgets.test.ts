import { expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import type { Person } from "../support/world.ts";

let tenants = 0;

const world = await setupWorld();

const home = renew(() => world.tenant(`tenant-${++tenants}`));

const PATH = "/api/v1/budgets";
const as = ({ token }: Person) => ({ token });
const create = (body: object, by = home.owner) => world.call("POST", PATH, { ...as(by), body });
const patch = (id: string, body: object, by = home.owner, headers = {}) =>
  world.call("PATCH", `${PATH}/${id}`, { ...as(by), body, headers });
const get = (id: string, by = home.owner) => world.call("GET", `${PATH}/${id}`, as(by));
const report = (entry: object, agent = home.worker.token) =>
  world.call("POST", "/api/v1/agent/usage", { agent, body: { entries: [{ key: crypto.randomUUID(), ...entry }] } });

test("a budget has the documented fields, and the name of its scope", async () => {
  const { body } = await create({
    scope: "board",
    scope_id: home.board_id,
    limit: { cost_usd: "10.50", runs: 5 },
    timezone: "Europe/Berlin",
  });
  expect(body).toMatchObject({
    scope: "board",
    scope_id: home.board_id,
    scope_name: `tenant-${tenants} board`,
    board_id: home.board_id,
    period: "month",
    timezone: "Europe/Berlin",
    warn_at: 0.8,
    on_limit: "stop",
    state: "ok",
    limit: { cost_usd: "10.5", total_tokens: null, runs: 5 },
    reserve: { cost_usd: null, total_tokens: null },
    spent: { cost_usd: "0", total_tokens: 0, runs: 0 },
    reserved: { cost_usd: "0", total_tokens: 0 },
  });
  expect((await get(body.id)).body).toEqual(body);
  expect((await world.call("GET", `${PATH}?scope=board`, as(home.owner))).body.items).toEqual([body]);
  expect((await world.call("GET", `${PATH}?scope_id=${home.organization_id}`, as(home.owner))).body.items).toEqual([]);
});

test.each([
  ["no limit", { limit: {} }],
  ["only null limits", { limit: { cost_usd: null } }],
  ["a negative limit", { limit: { total_tokens: -1 } }],
  ["a price with an exponent", { limit: { cost_usd: "1e9" } }],
  ["an unknown zone", { limit: { runs: 1 }, timezone: "Mars/Base" }],
  ["an offset as zone", { limit: { runs: 1 }, timezone: "+02:00" }],
  ["a zone that JavaScript knows and PostgreSQL does not", { limit: { runs: 1 }, timezone: "AET" }],
  ["a warning beyond the limit", { limit: { runs: 1 }, warn_at: 1.1 }],
  ["a board without an id", { limit: { runs: 1 }, scope: "board" }],
])("a budget with %s is refused", async (_what, body) => {
  expect((await create({ scope: "organization", ...body })).status).toBe(422);
});

test("a change to a zone that PostgreSQL does not know is refused, and the budget stays as it was", async () => {
  const { body } = await create({ scope: "organization", limit: { runs: 1 } });
  expect((await patch(body.id, { timezone: "AET" })).status).toBe(422);
  expect((await get(body.id)).body).toEqual(body);
});

test("the state of a budget is `warned` as soon as what was spent reaches the warning threshold", async () => {
  const { body } = await create({ scope: "board", scope_id: home.board_id, limit: { total_tokens: 100 }, warn_at: 0.55 });
  await report({ input_tokens: 55 });
  expect((await get(body.id)).body).toMatchObject({ spent: { total_tokens: 55 }, state: "warned" });
});

test("usage is counted in the budgets of organization, board, agent and task, and in no other", async () => {
  const task = await addTask(world, home);
  const limit = { cost_usd: "100", total_tokens: 1_000_000 };
  const made = await Promise.all(
    [
      { scope: "organization" },
      { scope: "board", scope_id: home.board_id },
      { scope: "agent", scope_id: home.worker.id },
      { scope: "task", scope_id: task.id },
      { scope: "agent", scope_id: home.lead.id },
    ].map((place) => create({ ...place, limit })),
  );
  await report({ task_id: task.id, input_tokens: 900, output_tokens: 100, cost_usd: "1.25" });
  await report({ input_tokens: 10 });
  const spent = await Promise.all(made.map(async ({ body }) => (await get(body.id)).body.spent));
  expect(spent.map(({ cost_usd, total_tokens }) => `${cost_usd} ${total_tokens}`)).toEqual([
    "1.25 1010",
    "1.25 1010",
    "1.25 1010",
    "1.25 1000",
    "0 0",
  ]);
});

test("a repeated entry is counted once in a budget", async () => {
  const { body } = await create({ scope: "organization", limit: { total_tokens: 100 } });
  for (let time = 0; time < 2; time++) await report({ key: "same", input_tokens: 30 });
  expect((await get(body.id)).body.spent.total_tokens).toBe(30);
});

test("a budget warns once per period, and announces once that it is spent", async () => {
  const { body } = await create({ scope: "board", scope_id: home.board_id, limit: { total_tokens: 100 }, period: "day" });
  const events = async () =>
    (await world.call("GET", "/api/v1/activity?limit=50", as(home.owner))).body.items
      .map(({ event_type, message }: { event_type: string; message: string }) => `${event_type} ${message}`)
      .filter((text: string) => /^budget\.(warned|exhausted)/.test(text));
  await report({ input_tokens: 79 });
  expect(await events()).toEqual([]);
  for (let time = 0; time < 2; time++) await report({ input_tokens: 5 });
  expect(await events()).toEqual(["budget.warned Budget almost spent: board, 84 of 100 tokens today."]);
  expect((await get(body.id)).body.state).toBe("warned");
  for (let time = 0; time < 2; time++) await report({ input_tokens: 50 });
  expect((await events())[0]).toBe("budget.exhausted Budget spent: board, 139 of 100 tokens today.");
  expect(await events()).toHaveLength(2);
  expect((await get(body.id)).body.state).toBe("exhausted");
  expect(world.measurements.filter(({ name }) => name === "BudgetExhausted")).toHaveLength(1);
  world.elapse(86_400_000);
  expect((await get(body.id)).body).toMatchObject({ state: "ok", spent: { total_tokens: 0 } });
  await report({ input_tokens: 90 });
  expect(await events()).toHaveLength(3);
  expect((await get(body.id)).body).toMatchObject({ state: "warned", spent: { total_tokens: 90 } });
});

test("a month ends at midnight in the zone of the budget", async () => {
  const ends = async (timezone: string) => {
    const { body } = await create({ scope: "organization", limit: { runs: 1 }, timezone });
    return new Date(body.resets_at);
  };
  const utc = await ends("UTC");
  expect([utc.getUTCDate(), utc.getUTCHours()]).toEqual([1, 0]);
  const local = (await ends("Asia/Tokyo")).toLocaleString("en-GB", { timeZone: "Asia/Tokyo", day: "numeric", hour: "2-digit" });
  expect(local).toMatch(/^1(st)?,? at 00|^1, 00|^1 at 00/);
  const { body } = await create({ scope: "organization", limit: { runs: 1 }, period: "total" });
  expect(body.resets_at).toBeNull();
});

test("what was spent stays under a new limit and is zero in a new period; a change needs a limit and the current ETag", async () => {
  const { body } = await create({ scope: "organization", limit: { total_tokens: 100 }, warn_at: 0.5 });
  await report({ input_tokens: 60 });
  const read = await get(body.id);
  expect(read.body.state).toBe("warned");
  const tag = read.headers.get("etag")!;
  const changed = await patch(body.id, { limit: { total_tokens: 1000, cost_usd: "5" } }, home.owner, { "if-match": tag });
  expect(changed.body).toMatchObject({ state: "ok", spent: { total_tokens: 60 }, limit: { total_tokens: 1000, cost_usd: "5" } });
  expect((await patch(body.id, { warn_at: 0.9 }, home.owner, { "if-match": tag })).status).toBe(412);
  expect((await patch(body.id, { limit: { total_tokens: null, cost_usd: null } })).status).toBe(422);
  expect((await patch(body.id, { limit: { cost_usd: "5.000" } })).body.updated_at).toBe(changed.body.updated_at);
  expect((await patch(body.id, { period: "day" })).body).toMatchObject({ period: "day", spent: { total_tokens: 0 } });
  expect((await world.call("DELETE", `${PATH}/${body.id}`, as(home.owner))).status).toBe(200);
  expect((await get(body.id)).status).toBe(404);
});

test("members set budgets of boards that they may change and of tasks on these boards, admins set all budgets, and other people none", async () => {
  const guest = await world.person(`guest-${tenants}`);
  const member_id = await world.join(guest, home.organization_id, "member");
  const second = await world.call("POST", "/api/v1/boards", {
    ...as(home.owner),
    body: { name: "Second", description: "b", gateway_id: home.gateway_id },
  });
  const rights = (can_write: boolean) =>
    world.call("PUT", `/api/v1/organizations/me/members/${member_id}/access`, {
      ...as(home.owner),
      body: {
        all_boards_read: false,
        all_boards_write: false,
        board_access: [{ board_id: home.board_id, can_read: true, can_write }],
      },
    });
  const task = await addTask(world, home);
  const limit = { runs: 9 };
  const board = { scope: "board", scope_id: home.board_id, limit };
  await rights(false);
  expect((await create(board, guest)).status).toBe(403);
  await rights(true);
  const own = await create(board, guest);
  expect(own.status).toBe(200);
  expect((await create({ scope: "task", scope_id: task.id, limit }, guest)).status).toBe(200);
  for (const place of [
    { scope: "organization" },
    { scope: "agent", scope_id: home.worker.id },
    { scope: "board", scope_id: second.body.id },
  ]) {
    expect((await create({ ...place, limit }, guest)).status).toBe(404);
    const made = await create({ ...place, limit });
    expect([made.status, (await get(made.body.id, guest)).status]).toEqual([200, 404]);
  }
  expect((await world.call("GET", PATH, as(guest))).body.total).toBe(2);
  expect((await world.call("GET", PATH, as(home.owner))).body.total).toBe(5);
  const other = await world.tenant(`other-${tenants}`);
  expect((await get(own.body.id, other.owner)).status).toBe(404);
  expect((await create(board, other.owner)).status).toBe(404);
  expect((await create({ scope: "agent", scope_id: home.worker.id, limit }, other.owner)).status).toBe(404);
  expect((await create({ scope: "task", scope_id: task.id, limit }, other.owner)).status).toBe(404);
});

test("a new task can be given a budget, which is removed with the task", async () => {
  const tasks = `/api/v1/boards/${home.board_id}/tasks`;
  expect((await world.call("POST", tasks, { ...as(home.owner), body: { title: "T", budget: {} } })).status).toBe(422);
  const task = await world.call("POST", tasks, { ...as(home.owner), body: { title: "T", budget: { cost_usd: "2" } } });
  const list = async () => (await world.call("GET", `${PATH}?scope_id=${task.body.id}`, as(home.owner))).body.items;
  expect(await list()).toMatchObject([
    { scope: "task", scope_name: "T", period: "total", limit: { cost_usd: "2" }, on_limit: "stop" },
  ]);
  await world.call("DELETE", `${tasks}/${task.body.id}`, as(home.owner));
  expect(await list()).toEqual([]);
});

test("the budget of a new task is in the activity of its board and in the audit log, whether a person or a lead sets the budget", async () => {
  const body = { title: "T", budget: { cost_usd: "2" } };
  await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { ...as(home.owner), body });
  const made = await world.call("POST", `/api/v1/agent/boards/${home.board_id}/tasks`, { agent: home.lead.token, body });
  const { items } = (await world.call("GET", "/api/v1/activity?limit=50", as(home.owner))).body;
  const events = items.filter(({ event_type }: { event_type: string }) => event_type === "budget.created");
  const event = { board_id: home.board_id, message: "Budget created: task, 0 of 2 USD." };
  expect(events).toMatchObject([{ ...event, task_id: made.body.id, agent_id: home.lead.id }, event]);
  const budget = (await world.call("GET", `${PATH}?scope_id=${made.body.id}`, as(home.owner))).body.items[0];
  const entries = (await world.call("GET", "/api/v1/audit?limit=50&action=budget.created", as(home.owner))).body.items;
  expect(entries).toMatchObject([
    { actor: { type: "agent", id: home.lead.id }, target: { type: "budget", id: budget.id, name: "T" } },
    { actor: { type: "user" } },
  ]);
  expect(entries[0].changes).toMatchObject({ limit: [null, { cost_usd: "2" }], scope: [null, "task"] });
});
