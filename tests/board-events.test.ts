import { readFileSync } from "node:fs";
import { BoardEvent } from "@board/core/board-event/detail";
import { BusError } from "@board/core/bus";
import { transaction } from "@board/core/context";
import type { Database } from "@board/core/db/database";
import { boards, jobs } from "@board/core/db/schema";
import { redriveJobs } from "@board/core/job/job";
import { createTask } from "@board/core/task/create";
import { CreateTask } from "@board/core/task/input";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FakeGateway, startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { ask, decide } from "./support/approval.ts";
import { eventJobs, publishDue } from "./support/board-events.ts";
import { addField } from "./support/custom-field.ts";
import { GOAL, onboard } from "./support/onboarding.ts";
import { addTask } from "./support/task.ts";
import { changeTask, createTeam, link, patchTask, setRules, type Team, type Who } from "./support/task-rules.ts";
import { createWorld, openTemplate, type World } from "./support/world.ts";

/** Stands in every text that somebody writes here. */
const SAID = "zanzibar";

const statements: string[] = [];
let database: Database;
/** Two services on one database: the one publishes, the other does not. */
let world: World;
let quiet: World;
let host: FakeGateway;
let home: Team;
let owner: Who;
let worker: Who;
let lead: Who;
/** What the bus has taken, and whether it takes more. */
const taken: BoardEvent[] = [];
let away = false;

const bus = {
  async publish(event: BoardEvent) {
    if (away) throw new BusError("away");
    taken.push(event);
  },
};

beforeAll(async () => {
  host = await startFakeGateway({ token: "test-token-123", timings: { stale: 0 } });
  database = await openTemplate(statements);
  world = await createWorld({ database, bus, environment: { BOARD_EVENTS: "on" } });
  quiet = await createWorld({ database });
  home = await createTeam(world, "home", host.url);
  await database.db.update(boards).set({ max_agents: 50 });
  [owner, worker, lead] = [{ token: home.owner.token }, { agent: home.worker.token }, { agent: home.lead.token }];
}, 60_000);
afterAll(async () => {
  await world.close();
  await quiet.close();
  await database.close();
  await host.close();
});
beforeEach(async () => {
  away = false;
  await database.db.delete(jobs);
  await setRules(world, home);
});

/** What leaves because of some work. */
async function leaving(work: () => Promise<unknown>): Promise<BoardEvent[]> {
  taken.length = 0;
  await work();
  await publishDue(world);
  return [...taken];
}
/** The same, as type, subject and, of updates, the fields. */
async function typesOf(work: () => Promise<unknown>): Promise<[string, string, ...string[]][]> {
  const events = await leaving(work);
  return events.map((event) => [event.type, event.subject.id, ...("changed_fields" in event ? event.changed_fields : [])]);
}
async function send(method: string, path: string, who: Who, body?: object) {
  const answer = await world.call(method, path, { ...who, ...(body ? { body } : {}) });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}
const tasksPath = (prefix = "/api/v1") => `${prefix}/boards/${home.board_id}/tasks`;
const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, home, fields);

describe("of tasks", () => {
  test("a new task leaves as created, and as assigned and completed when it is", async () => {
    let made: { id: string } = { id: "" };
    const making = (who: Who, prefix: string, body: object) => async () => {
      made = await send("POST", tasksPath(prefix), who, { title: SAID, ...body });
    };
    expect(await typesOf(making(owner, "/api/v1", {}))).toEqual([["task.created", made.id]]);
    const given = { assigned_agent_id: home.worker.id };
    expect(await typesOf(making(lead, "/api/v1/agent", given))).toEqual([
      ["task.created", made.id],
      ["task.assigned", made.id],
    ]);
    expect(await typesOf(making(owner, "/api/v1", { ...given, status: "done" }))).toEqual([
      ["task.created", made.id],
      ["task.assigned", made.id],
      ["task.completed", made.id],
    ]);
  });

  test("an event says who did it, when, on which board and how the task stands", async () => {
    const task = await add({ assigned_agent_id: home.worker.id });
    const before = world.now().toISOString();
    const [event, second] = await leaving(() => changeTask(world, worker, task, { status: "done" }));
    expect(event).toEqual({
      version: 1,
      id: expect.any(String),
      type: "task.updated",
      occurred_at: expect.any(String),
      organization_id: home.organization_id,
      board_id: home.board_id,
      actor: { type: "agent", id: home.worker.id },
      subject: { type: "task", id: task.id },
      status: "done",
      assigned_agent_id: home.worker.id,
      changed_fields: ["status"],
    });
    expect(event!.occurred_at >= before && event!.occurred_at <= world.now().toISOString()).toBe(true);
    expect(second).toMatchObject({ type: "task.completed", occurred_at: event!.occurred_at });
    const [made] = await leaving(() => send("POST", tasksPath(), owner, { title: SAID }));
    expect(made).toMatchObject({ actor: { type: "user", id: home.owner_id }, status: "inbox", assigned_agent_id: null });
  });

  test("a change leaves with the names of the fields that it changed", async () => {
    const field = await addField(world, home, { field_key: "stage", label: "Stage", field_type: "text" });
    const tag = await send("POST", "/api/v1/tags", owner, { name: SAID });
    const [task, first] = [await add(), await add({ status: "done" })];
    const change = (body: object, who = owner) => typesOf(() => changeTask(world, who, task, body));
    const updated = (...fields: string[]) => ["task.updated", task.id, ...fields];
    expect(await change({ title: SAID, priority: SAID })).toEqual([updated("title", "priority")]);
    expect(await change({ description: SAID, due_at: "2026-12-01", tag_ids: [tag.id] })).toEqual([
      updated("description", "due_at", "tag_ids"),
    ]);
    expect(await change({ depends_on_task_ids: [first.id] })).toEqual([updated("depends_on_task_ids")]);
    expect(await change({ custom_field_values: { [field.field_key]: SAID } })).toEqual([updated("custom_field_values")]);
    expect(await change({ status: "in_progress" }, worker)).toEqual([
      updated("status", "assigned_agent_id"),
      ["task.assigned", task.id],
    ]);
    expect(await change({ assigned_agent_id: null })).toEqual([updated("assigned_agent_id")]);
    expect(await change({ status: "done", assigned_agent_id: home.second.id })).toEqual([
      updated("status", "assigned_agent_id"),
      ["task.assigned", task.id],
      ["task.completed", task.id],
    ]);
  });

  test("nothing leaves of a request that changes nothing, of a comment, or of a refusal", async () => {
    const task = await add({ title: "Sweep", status: "in_progress", assigned_agent_id: home.worker.id });
    const same = { title: "Sweep", status: "in_progress", assigned_agent_id: home.worker.id, tag_ids: [] };
    expect(await leaving(() => changeTask(world, owner, task, same))).toEqual([]);
    expect(await leaving(() => changeTask(world, worker, task, { comment: SAID }))).toEqual([]);
    await setRules(world, home, { require_review_before_done: true });
    const refused = async () => expect((await patchTask(world, owner, task, { status: "done", title: SAID })).status).toBe(409);
    expect(await leaving(refused)).toEqual([]);
  });

  test("nothing leaves of a change that is rolled back", async () => {
    const actor = { type: "user", user_id: home.owner_id, display_name: "Owner", active: null } as const;
    const changing = transaction({ ...world.context(), actor }, async (ctx) => {
      await createTask(ctx, home.board_id, CreateTask.parse({ title: SAID }));
      throw new Error("changed its mind");
    });
    expect(await leaving(() => expect(changing).rejects.toThrow("changed its mind"))).toEqual([]);
    expect(await eventJobs(world)).toEqual([]);
  });

  test("tasks that wait for a changed one leave with what they show of it", async () => {
    const [first, waiting, held, done] = [
      await add(),
      await add({ status: "in_progress", assigned_agent_id: home.worker.id, in_progress_at: new Date() }),
      await add({ status: "blocked" }),
      await add({ status: "done" }),
    ];
    for (const task of [waiting, held, done]) await link(world, task, [first]);
    expect(await typesOf(() => changeTask(world, owner, first, { status: "done" }))).toEqual([
      ["task.updated", first.id, "status"],
      ["task.completed", first.id],
      ["task.updated", waiting.id, "blocked_by_task_ids"],
      ["task.updated", held.id, "blocked_by_task_ids"],
    ]);
    const reopened = await leaving(() => changeTask(world, owner, first, { status: "inbox" }));
    expect(reopened).toMatchObject([
      { subject: { id: first.id }, changed_fields: ["status"] },
      { subject: { id: waiting.id }, status: "inbox", assigned_agent_id: null },
      { subject: { id: held.id }, status: "blocked", changed_fields: ["blocked_by_task_ids"] },
    ]);
    expect(reopened[1]).toMatchObject({ changed_fields: ["status", "assigned_agent_id", "blocked_by_task_ids"] });
    expect(await typesOf(() => send("DELETE", `${tasksPath()}/${first.id}`, owner))).toEqual(
      [waiting, held, done].map(({ id }) => ["task.updated", id, "depends_on_task_ids"]),
    );
  });

  test("an agent that is removed leaves its tasks behind as changed", async () => {
    const { id } = await send("POST", "/api/v1/agents", owner, { name: "Leaver", board_id: home.board_id });
    const [working, reviewed] = [
      await add({ status: "in_progress", assigned_agent_id: id }),
      await add({ status: "review", assigned_agent_id: id }),
    ];
    await database.db.delete(jobs);
    expect(await typesOf(() => send("DELETE", `/api/v1/agents/${id}`, owner))).toEqual([
      ["task.updated", working.id, "status", "assigned_agent_id"],
      ["task.updated", reviewed.id, "assigned_agent_id"],
    ]);
  });
});

describe("of agents", () => {
  const named = (name: string) => ({ name, board_id: home.board_id });

  test("a new agent leaves as created, however it is made, and a main agent not at all", async () => {
    const made = await leaving(() => send("POST", "/api/v1/agents", owner, named("First")));
    expect(made).toMatchObject([
      { type: "agent.created", board_id: home.board_id, status: "provisioning", actor: { type: "user", id: home.owner_id } },
    ]);
    const byLead = await leaving(() => send("POST", "/api/v1/agent/agents", lead, { name: "Other" }));
    expect(byLead).toMatchObject([{ type: "agent.created", actor: { type: "agent", id: home.lead.id } }]);
    const byName = () => send("POST", "/api/v1/agents/heartbeat", owner, named("By name"));
    expect(await leaving(byName)).toMatchObject([{ type: "agent.created" }]);
    const boarding = await onboard(world, home);
    await boarding.start();
    expect(await leaving(() => boarding.confirm(GOAL))).toMatchObject([{ type: "agent.created", board_id: boarding.board_id }]);
    const gateway = { name: "Second host", url: host.url, token: "test-token-123", workspace_root: "/srv/agents" };
    expect(await leaving(() => send("POST", "/api/v1/gateways", owner, gateway))).toEqual([]);
  });

  test("a change of its description leaves with the names of the fields, one that changes nothing and signs of life do not", async () => {
    const path = `/api/v1/agents/${home.second.id}`;
    const change = (body: object, query = "") => typesOf(() => send("PATCH", `${path}${query}`, owner, body));
    const updated = (...fields: string[]) => ["agent.updated", home.second.id, ...fields];
    expect(await change({ name: SAID, soul_template: SAID })).toEqual([updated("name", "soul_template")]);
    expect(await change({ name: SAID, soul_template: SAID }, "?force=true")).toEqual([]);
    expect(await change({ identity_profile: { role: SAID }, identity_template: SAID })).toEqual([
      updated("identity_profile", "identity_template"),
    ]);
    expect(await change({ heartbeat_config: { every: "5m" } })).toEqual([updated("heartbeat_config")]);
    expect(await leaving(() => send("POST", `${path}/heartbeat`, { agent: home.second.token }, {}))).toEqual([]);
  });

  test("a soul that the lead gives an agent is a change of it", async () => {
    const name = home.second.session_key.split(":")[1]!;
    const target = { url: host.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
    await world.context().gateways.request(target, "agents.create", { name, workspace: `/srv/${name}` });
    const path = `/api/v1/agent/boards/${home.board_id}/agents/${home.second.id}/soul`;
    const give = () => send("PUT", path, lead, { content: `# ${SAID} again` });
    expect(await typesOf(give)).toEqual([["agent.updated", home.second.id, "soul_template"]]);
    expect(await leaving(give)).toEqual([]);
  });

  test("an agent that moves is told of on the board that it leaves and on the one that it comes to", async () => {
    const { id } = await send("POST", "/api/v1/agents", owner, named("Mover"));
    const board = { name: "There", description: "Another board", gateway_id: home.gateway_id };
    const there = await send("POST", "/api/v1/boards", owner, board);
    await database.db.delete(jobs);
    const moved = await leaving(() => send("PATCH", `/api/v1/agents/${id}`, owner, { board_id: there.id }));
    expect(moved).toMatchObject(
      [home.board_id, there.id].map((board_id) => ({
        type: "agent.updated",
        subject: { id },
        board_id,
        changed_fields: ["board_id"],
      })),
    );
  });
});

describe("of approvals", () => {
  test("an approval leaves as requested, as resolved by each decision, and as requested again when it is taken back", async () => {
    const task = await add();
    const [requested] = await leaving(() => ask(world, home, { action_type: SAID, description: SAID, task_id: task.id }));
    expect(requested).toMatchObject({
      type: "approval.requested",
      actor: { type: "agent", id: home.worker.id },
      subject: { type: "approval" },
      status: "pending",
      task_ids: [task.id],
    });
    const { id } = requested!.subject;
    const deciding = (status: string) => leaving(() => decide(world, home, id, status));
    const resolved = (status: string) => [
      { type: "approval.resolved", subject: { type: "approval", id }, actor: { id: home.owner_id }, status, task_ids: [task.id] },
    ];
    expect(await deciding("approved")).toMatchObject(resolved("approved"));
    expect(await deciding("approved")).toEqual([]);
    expect(await deciding("rejected")).toMatchObject(resolved("rejected"));
    expect(await deciding("pending")).toMatchObject([{ type: "approval.requested", subject: { id }, status: "pending" }]);
  });
});

/** One request of each family, as whichever service gets it. */
const requests: [string, (service: World) => Promise<unknown>][] = [
  ["a new task", (service) => on(service, "POST", tasksPath(), { title: SAID, assigned_agent_id: home.worker.id })],
  ["a change of a task", async (service) => patch(service, await add(), { title: SAID, priority: SAID })],
  ["the end of a task", async (service) => patch(service, await linked(), { status: "done" })],
  ["a reopened task", async (service) => patch(service, await linked({ status: "done" }), { status: "inbox" })],
  ["a removed task", async (service) => on(service, "DELETE", `${tasksPath()}/${(await linked()).id}`)],
  ["a new agent", (service) => on(service, "POST", "/api/v1/agents", { name: `${SAID} ${count++}`, board_id: home.board_id })],
  ["a new name of an agent", (service) => on(service, "PATCH", agentPath(), { name: `${SAID} ${count++}` })],
  [
    "a new rhythm of an agent",
    (service) => on(service, "PATCH", agentPath(), { heartbeat_config: { every: `${100 + count++}m` } }),
  ],
  ["a new approval", (service) => ask(service, home, { action_type: SAID, payload: { secret: SAID } })],
  ["a decision", async (service) => decideOn(service, (await ask(quiet, home)).id)],
];
let count = 0;
const agentPath = () => `/api/v1/agents/${home.second.id}`;
const patch = (service: World, { id }: { id: string }, body: object) => on(service, "PATCH", `${tasksPath()}/${id}`, body);
const decideOn = (service: World, id: string) =>
  on(service, "PATCH", `/api/v1/boards/${home.board_id}/approvals/${id}`, { status: "approved" });
async function linked(fields: Parameters<typeof addTask>[2] = {}) {
  const first = await add(fields);
  await link(world, await add({ status: "review", assigned_agent_id: home.worker.id }), [first]);
  return first;
}
/** Prepared by what goes before it: the statements of this request alone are counted. */
async function on(service: World, method: string, path: string, body?: object) {
  const { token } = await service.person("home");
  statements.length = 0;
  const answer = await service.call(method, path, { token, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBe(200);
}

test.each(requests)(
  "%s takes as many statements with events as without, and stores none where they are off",
  async (_what, request) => {
    const costs: number[] = [];
    for (const service of [quiet, world]) {
      statements.length = 0;
      await request(service);
      costs.push(statements.length);
      expect((await eventJobs(world)).length > 0).toBe(service === world);
    }
    expect(costs[0]).toBeGreaterThan(2);
    expect(costs[1]).toBe(costs[0]);
  },
);

test("every event has exactly the fields of its schema, and nothing that somebody wrote or that is secret", async () => {
  const events = await leaving(async () => {
    for (const [, request] of requests) await request(world);
  });
  expect(new Set(events.map(({ type }) => type))).toEqual(
    new Set([
      "task.created",
      "task.updated",
      "task.assigned",
      "task.completed",
      "agent.created",
      "agent.updated",
      "approval.requested",
      "approval.resolved",
    ]),
  );
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (const event of events) expect(BoardEvent.parse(event)).toEqual(event);
  const text = JSON.stringify([events, (await eventJobs(world)).map(({ payload }) => payload)]);
  for (const secret of [SAID, home.owner.token, home.worker.token, home.lead.token, home.second.token, "test-token-123"])
    expect(text).not.toContain(secret);
});

test("the examples of the document are such events", () => {
  const document = readFileSync(new URL("../docs/board-events.md", import.meta.url), "utf8");
  const blocks = [...document.matchAll(/```json\n([^`]*)```/g)].map(([, json]) => JSON.parse(json!));
  const details = blocks.map((block) => block.detail ?? block).filter(({ version }) => version !== undefined);
  expect(details.map(({ type }) => type)).toEqual(["task.updated", "agent.updated", "approval.resolved"]);
  for (const detail of details) expect(BoardEvent.parse(detail)).toEqual(detail);
});

test("an event keeps its id and its moment while the bus is away, and when it is redriven", async () => {
  const task = await add();
  away = true;
  expect(await leaving(() => changeTask(world, owner, task, { title: SAID }))).toEqual([]);
  const [job] = await eventJobs(world);
  expect(job).toMatchObject({ status: "queued", attempts: 1, crashes: 0, lane: null, last_error: "away" });
  for (let attempt = 2; attempt <= 10; attempt++) {
    world.elapse(700_000);
    await publishDue(world);
  }
  expect(await eventJobs(world)).toMatchObject([{ id: job!.id, status: "dead", attempts: 10 }]);
  away = false;
  const [event] = await leaving(() => redriveJobs(world.context(), [job!.id]));
  expect(event).toMatchObject({ id: job!.id, occurred_at: (job!.payload as BoardEvent).occurred_at, changed_fields: ["title"] });
  expect(await eventJobs(world)).toMatchObject([{ status: "done", last_error: null }]);
});
