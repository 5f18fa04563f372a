import { beforeEach, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { renew, setup, setupWorld } from "../support/fixtures.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { startReceiver } from "../support/receiver.ts";
import { addTask } from "../support/task.ts";
import type { Person } from "../support/world.ts";

const receiver = await setup(startReceiver());
const world = await setupWorld();

beforeEach(() => {
  receiver.messages.length = 0;
});

const send = async (method: string, path: string, { token }: Person, body?: object) => {
  const answer = await world.call(method, path, { token, body });
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.body;
};
const report = async (agent: string, ...entries: object[]) => {
  const body = { entries: entries.map((entry) => ({ key: crypto.randomUUID(), ...entry })) };
  expect((await world.call("POST", "/api/v1/agent/usage", { agent, body })).status).toBe(200);
  await world.drain();
};
const subscribe = (owner: Person, base = "/api/v1") =>
  send("POST", `${base}/subscriptions`, owner, { url: receiver.url, event_types: ["budget.*"] });
/** The received events, as their type, budget and board. */
const received = () => receiver.messages.map(({ json: { type, data } }) => [type, data.subject.id, data.board_id]);
const toldTo = async (person: Person) =>
  (await send("GET", "/api/v1/users/me/inbox", person)).items
    .filter(({ type }: { type: string }) => type.startsWith("budget."))
    .map(({ type, title, board_id }: Record<string, string>) => [type, title, board_id]);
const activityOf = async (owner: Person) =>
  (await send("GET", "/api/v1/activity?limit=100", owner)).items
    .filter(({ event_type }: { event_type: string }) => /^budget\.(warned|exhausted)$/.test(event_type))
    .map(({ event_type, board_id }: Record<string, string>) => [event_type, board_id]);

test("admins, the board's lead and subscriptions are notified once when a budget is almost spent, and once when it is spent", async () => {
  const home = await openPullBoard(world, "told");
  const admin = await world.member("told-admin", home, "admin", { read: true });
  const member = await world.member("told-member", home, "member", { read: true });
  await subscribe(home.owner);
  const { board_id } = home;
  const place = { scope: "board", scope_id: board_id, period: "day" };
  const { id } = await send("POST", "/api/v1/budgets", home.owner, { ...place, limit: { total_tokens: 100 } });
  for (let time = 0; time < 2; time++) await report(home.worker.token, { input_tokens: 42 });
  for (let time = 0; time < 2; time++) await report(home.worker.token, { input_tokens: 42 });
  expect(received()).toEqual([
    ["budget.warned", id, board_id],
    ["budget.exhausted", id, board_id],
  ]);
  expect(receiver.messages[1]!.json.data).toMatchObject({
    organization_id: home.organization_id,
    scope: "board",
    scope_id: board_id,
    period: "day",
    actor: { type: "agent", id: home.worker.id },
  });
  for (const person of [admin, home.owner])
    expect(await toldTo(person)).toEqual([
      ["budget.exhausted", "A budget is spent on told board", board_id],
      ["budget.warned", "A budget is almost spent on told board", board_id],
    ]);
  expect(await toldTo(member)).toEqual([]);
  const { messages } = (await home.inbox(home.lead)).body;
  expect(messages).toMatchObject([
    { kind: "budget.warned", text: expect.stringContaining("Budget: board, 84 of 100 tokens today") },
    { kind: "budget.exhausted", text: expect.stringContaining("the runs were stopped") },
  ]);
});

test("the lead learns that a spent limit of runs stops no run", async () => {
  const home = await openPullBoard(world, "counted");
  await home.addTask();
  await send("POST", "/api/v1/budgets", home.owner, { scope: "board", scope_id: home.board_id, limit: { runs: 1 } });
  const { task } = (await world.call("POST", "/api/v1/agent/tasks/next", { agent: home.worker.token, body: {} })).body;
  expect(task.status).toBe("in_progress");
  const [message] = (await home.inbox(home.lead)).body.messages.filter(({ kind }: { kind: string }) => kind.startsWith("budget"));
  expect(message).toMatchObject({ kind: "budget.exhausted", text: expect.stringContaining("running work goes on") });
  expect(message.text).not.toContain("stopped");
});

const home = renew((n) => world.tenant(`gate-${n}`));
const main = renew(() => actAsMainAgent(world, home.gateway_id));

test("an organization's budget that a main agent spends without a board reaches admins and subscriptions of the organization", async () => {
  const { owner, organization_id, board_id } = home;
  const admin = await world.member(`${owner.subject}-admin`, home, "admin");
  const member = await world.member(`${owner.subject}-member`, home, "member", { read: true });
  await subscribe(owner);
  await subscribe(owner, `/api/v1/boards/${board_id}`);
  const { id } = await send("POST", "/api/v1/budgets", owner, { scope: "organization", limit: { total_tokens: 100 } });
  await report(main.token, { input_tokens: 150 });
  expect(received()).toEqual([["budget.exhausted", id, null]]);
  expect(receiver.messages[0]!.json.data).toMatchObject({ scope: "organization", scope_id: organization_id });
  for (const person of [owner, admin]) expect(await toldTo(person)).toEqual([["budget.exhausted", "A budget is spent", null]]);
  expect(await toldTo(member)).toEqual([]);
  expect(await activityOf(owner)).toEqual([["budget.exhausted", null]]);
});

test("a budget is announced on its own board or the board of its task, although one report spends on several boards", async () => {
  const { owner } = home;
  const second = await addBoard(world, home);
  const [first_task, task] = [await addTask(world, home), await addTask(world, second)];
  await subscribe(owner);
  const limit = { total_tokens: 100 };
  const create = async (scope: string, scope_id: string): Promise<string> =>
    (await send("POST", "/api/v1/budgets", owner, { scope, scope_id, limit })).id;
  const ofBoards = [await create("board", home.board_id), await create("board", second.board_id)];
  const ofTask = await create("task", task.id);
  const ofAgent = await create("agent", main.id);
  await report(
    main.token,
    { task_id: first_task.id, input_tokens: 150 },
    { task_id: task.id, input_tokens: 150 },
    { input_tokens: 1 },
  );
  const boards = new Map(received().map(([, id, board_id]) => [id, board_id]));
  expect([...ofBoards, ofTask].map((id) => boards.get(id))).toEqual([home.board_id, second.board_id, second.board_id]);
  expect([home.board_id, second.board_id]).toContain(boards.get(ofAgent));
  expect(receiver.messages).toHaveLength(4);
});

test("a budget whose last board was removed is still announced", async () => {
  const { owner } = home;
  await subscribe(owner);
  const { id } = await send("POST", "/api/v1/budgets", owner, { scope: "organization", limit: { total_tokens: 100 } });
  const task = await addTask(world, home);
  await report(main.token, { task_id: task.id, input_tokens: 50 });
  await send("DELETE", `/api/v1/boards/${home.board_id}`, owner);
  await report(main.token, { input_tokens: 50 });
  expect(received()).toEqual([["budget.exhausted", id, null]]);
});

test("a limit or warning threshold that is lowered to what was spent is announced as if a report had reached it", async () => {
  const { owner, board_id } = home;
  const admin = await world.member(`${owner.subject}-admin`, home, "admin", { read: true });
  await subscribe(owner);
  const place = { scope: "board", scope_id: board_id };
  const { id } = await send("POST", "/api/v1/budgets", owner, { ...place, limit: { total_tokens: 1000 } });
  await report(home.worker.token, { input_tokens: 500 });
  for (const change of [{ warn_at: 0.4 }, { warn_at: 0.3 }, { limit: { total_tokens: 500 } }, { limit: { total_tokens: 400 } }]) {
    await send("PATCH", `/api/v1/budgets/${id}`, owner, change);
    await world.drain();
  }
  expect(received()).toEqual([
    ["budget.warned", id, board_id],
    ["budget.exhausted", id, board_id],
  ]);
  expect((await toldTo(admin)).map(([type]: string[]) => type)).toEqual(["budget.exhausted", "budget.warned"]);
  await send("PATCH", `/api/v1/budgets/${id}`, owner, { limit: { total_tokens: 5000 } });
  await send("PATCH", `/api/v1/budgets/${id}`, owner, { limit: { total_tokens: 500 } });
  await world.drain();
  expect(received()).toHaveLength(3);
});

test("a new budget with a limit of zero is announced as spent", async () => {
  const { owner, board_id } = home;
  await subscribe(owner);
  const { id } = await send("POST", "/api/v1/budgets", owner, { scope: "board", scope_id: board_id, limit: { cost_usd: "0" } });
  await world.drain();
  const made = await send("POST", `/api/v1/boards/${board_id}/tasks`, owner, { title: "T", budget: { total_tokens: 0 } });
  await world.drain();
  const { items } = await send("GET", `/api/v1/budgets?scope_id=${made.id}`, owner);
  expect(received()).toEqual([
    ["budget.exhausted", id, board_id],
    ["budget.exhausted", items[0].id, board_id],
  ]);
});
