import { transaction } from "@board/core/context";
import type { Database } from "@board/core/db/database";
import { jobs } from "@board/core/db/schema";
import { createTask } from "@board/core/task/create";
import { CreateTask } from "@board/core/task/input";
import type { FakeGateway } from "@board/local/fake-gateway/server";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ask, decide } from "./support/approval.ts";
import { eventJobs } from "./support/board-events.ts";
import { addField } from "./support/custom-field.ts";
import { createEventWorld, type EventWorld } from "./support/event-world.ts";
import { GOAL, onboard } from "./support/onboarding.ts";
import { addTask } from "./support/task.ts";
import { changeTask, link, patchTask, setRules, type Team, type Who } from "./support/task-rules.ts";
import type { World } from "./support/world.ts";

/** Stands in every text that somebody writes here. */
const SAID = "zanzibar";

let stage: EventWorld;
let database: Database;
let world: World;
let host: FakeGateway;
let home: Team;
let owner: Who;
let worker: Who;
let lead: Who;

beforeAll(async () => {
  stage = await createEventWorld();
  ({ database, world, host, home } = stage);
  [owner, worker, lead] = [{ token: home.owner.token }, { agent: home.worker.token }, { agent: home.lead.token }];
}, 60_000);
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const leaving = (work: () => Promise<unknown>) => stage.leaving(work);
/** What leaves because of some work, as type, subject and, of updates, the fields. */
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
