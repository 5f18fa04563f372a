import { transaction } from "@board/core/context/context";
import { jobs } from "@board/core/schema/all-tables";
import { createTask } from "@board/core/task/create";
import { CreateTask } from "@board/core/task/input";
import { beforeEach, describe, expect, test } from "vitest";
import { requestApproval, decideApproval } from "../support/approval.ts";
import { listPublishJobs } from "../support/board-events.ts";
import { addField } from "../support/custom-field.ts";
import { createPublishingWorld } from "./publishing-world.ts";
import { GOAL, createOnboarding } from "../support/onboarding.ts";
import { addTask } from "../support/task.ts";
import { changeTask, addDependencies, patchTask, setRules, type Credential } from "../support/task-rules.ts";
import { setup } from "../support/fixtures.ts";

/** Part of every text that these tests write; no event may contain it. */
const TEXT = "zanzibar";

const fixture = await setup(createPublishingWorld());
const { database, world, host, home } = fixture;
const [owner, worker, lead] = [{ token: home.owner.token }, { agent: home.worker.token }, { agent: home.lead.token }];

beforeEach(() => fixture.reset());

const eventsOf = (work: () => Promise<unknown>) => fixture.eventsPublishedBy(work);
/** Returns the events that `work` publishes, each as its type, subject id and changed fields. */
async function typesOf(work: () => Promise<unknown>): Promise<[string, string, ...string[]][]> {
  const events = await eventsOf(work);
  return events.map((event) => [event.type, event.subject.id, ...("changed_fields" in event ? event.changed_fields : [])]);
}
async function send(method: string, path: string, who: Credential, body?: object) {
  const answer = await world.call(method, path, { ...who, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}
const tasksPath = (prefix = "/api/v1") => `${prefix}/boards/${home.board_id}/tasks`;
const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, home, fields);

describe("task events", () => {
  test("a new task publishes task.created, and also task.assigned if it has an assignee and task.completed if it is done", async () => {
    let created: { id: string } = { id: "" };
    const creating = (who: Credential, prefix: string, body: object) => async () => {
      created = await send("POST", tasksPath(prefix), who, { title: TEXT, ...body });
    };
    expect(await typesOf(creating(owner, "/api/v1", {}))).toEqual([["task.created", created.id]]);
    const assigned = { assigned_agent_id: home.worker.id };
    expect(await typesOf(creating(lead, "/api/v1/agent", assigned))).toEqual([
      ["task.created", created.id],
      ["task.assigned", created.id],
    ]);
    expect(await typesOf(creating(owner, "/api/v1", { ...assigned, status: "done" }))).toEqual([
      ["task.created", created.id],
      ["task.assigned", created.id],
      ["task.completed", created.id],
    ]);
  });

  test("an event has its actor, time, board and the task's state", async () => {
    const task = await add({ assigned_agent_id: home.worker.id });
    const before = world.now().toISOString();
    const [event, second] = await eventsOf(() => changeTask(world, worker, task, { status: "done" }));
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
    const [created] = await eventsOf(() => send("POST", tasksPath(), owner, { title: TEXT }));
    expect(created).toMatchObject({ actor: { type: "user", id: home.owner_id }, status: "inbox", assigned_agent_id: null });
  });

  test("a changed task publishes the names of its changed fields", async () => {
    const field = await addField(world, home, { field_key: "stage", label: "Stage", field_type: "text" });
    const tag = await send("POST", "/api/v1/tags", owner, { name: TEXT });
    const [task, first] = [await add(), await add({ status: "done" })];
    const change = (body: object, who: Credential = owner) => typesOf(() => changeTask(world, who, task, body));
    const updated = (...fields: string[]) => ["task.updated", task.id, ...fields];
    expect(await change({ title: TEXT, priority: TEXT })).toEqual([updated("title", "priority")]);
    expect(await change({ description: TEXT, due_at: "2026-12-01", tag_ids: [tag.id] })).toEqual([
      updated("description", "due_at", "tag_ids"),
    ]);
    expect(await change({ depends_on_task_ids: [first.id] })).toEqual([updated("depends_on_task_ids")]);
    expect(await change({ custom_field_values: { [field.field_key]: TEXT } })).toEqual([updated("custom_field_values")]);
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

  test("neither a request that changes nothing, nor a comment, nor a refused request publishes an event", async () => {
    const task = await add({ title: "Sweep", status: "in_progress", assigned_agent_id: home.worker.id });
    const same = { title: "Sweep", status: "in_progress", assigned_agent_id: home.worker.id, tag_ids: [] };
    expect(await eventsOf(() => changeTask(world, owner, task, same))).toEqual([]);
    expect(await eventsOf(() => changeTask(world, worker, task, { comment: TEXT }))).toEqual([]);
    await setRules(world, home, { require_review_before_done: true });
    const refused = async () => expect((await patchTask(world, owner, task, { status: "done", title: TEXT })).status).toBe(409);
    expect(await eventsOf(refused)).toEqual([]);
  });

  test("a change that is rolled back publishes no event", async () => {
    const actor = { type: "user", user_id: home.owner_id, display_name: "Owner", active: null } as const;
    const changing = transaction({ ...world.context(), actor }, async (ctx) => {
      await createTask(ctx, home.board_id, CreateTask.parse({ title: TEXT }));
      throw new Error("changed its mind");
    });
    expect(await eventsOf(() => expect(changing).rejects.toThrow("changed its mind"))).toEqual([]);
    expect(await listPublishJobs(world)).toEqual([]);
  });

  test("when a task changes, the tasks that depend on it publish their own changed fields", async () => {
    // Events come in the order of creation, and two tasks can be created in the same millisecond.
    const created = (minute: number) => ({ created_at: new Date(Date.UTC(2026, 0, 1, 0, minute)) });
    const [first, waiting, blocked, done] = [
      await add(),
      await add({ ...created(1), status: "in_progress", assigned_agent_id: home.worker.id, in_progress_at: new Date() }),
      await add({ ...created(2), status: "blocked" }),
      await add({ ...created(3), status: "done" }),
    ];
    for (const task of [waiting, blocked, done]) await addDependencies(world, task, [first]);
    expect(await typesOf(() => changeTask(world, owner, first, { status: "done" }))).toEqual([
      ["task.updated", first.id, "status"],
      ["task.completed", first.id],
      ["task.updated", waiting.id, "blocked_by_task_ids"],
      ["task.updated", blocked.id, "blocked_by_task_ids"],
    ]);
    const reopened = await eventsOf(() => changeTask(world, owner, first, { status: "inbox" }));
    expect(reopened).toMatchObject([
      { subject: { id: first.id }, changed_fields: ["status"] },
      { subject: { id: waiting.id }, status: "inbox", assigned_agent_id: null },
      { subject: { id: blocked.id }, status: "blocked", changed_fields: ["blocked_by_task_ids"] },
    ]);
    expect(reopened[1]).toMatchObject({ changed_fields: ["status", "assigned_agent_id", "blocked_by_task_ids"] });
    expect(await typesOf(() => send("DELETE", `${tasksPath()}/${first.id}`, owner))).toEqual(
      [waiting, blocked, done].map(({ id }) => ["task.updated", id, "depends_on_task_ids"]),
    );
  });

  test("deleting an agent publishes changes of its tasks", async () => {
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

describe("agent events", () => {
  const named = (name: string) => ({ name, board_id: home.board_id });

  test("every operation that creates an agent of a board publishes agent.created, and a new main agent publishes no event", async () => {
    const created = await eventsOf(() => send("POST", "/api/v1/agents", owner, named("First")));
    expect(created).toMatchObject([
      { type: "agent.created", board_id: home.board_id, status: "provisioning", actor: { type: "user", id: home.owner_id } },
    ]);
    const byLead = await eventsOf(() => send("POST", "/api/v1/agent/agents", lead, { name: "Other" }));
    expect(byLead).toMatchObject([{ type: "agent.created", actor: { type: "agent", id: home.lead.id } }]);
    const byName = () => send("POST", "/api/v1/agents/heartbeat", owner, named("By name"));
    expect(await eventsOf(byName)).toMatchObject([{ type: "agent.created" }]);
    const boarding = await createOnboarding(world, home);
    await boarding.start();
    expect(await eventsOf(() => boarding.confirm(GOAL))).toMatchObject([{ type: "agent.created", board_id: boarding.board_id }]);
    const gateway = { name: "Second host", url: host.url, token: "test-token-123", workspace_root: "/srv/agents" };
    expect(await eventsOf(() => send("POST", "/api/v1/gateways", owner, gateway))).toEqual([]);
  });

  test("a changed agent publishes the names of its changed fields; no-op changes and heartbeats publish no event", async () => {
    const path = `/api/v1/agents/${home.second.id}`;
    const change = (body: object, query = "") => typesOf(() => send("PATCH", `${path}${query}`, owner, body));
    const updated = (...fields: string[]) => ["agent.updated", home.second.id, ...fields];
    expect(await change({ name: TEXT, soul_template: TEXT })).toEqual([updated("name", "soul_template")]);
    expect(await change({ name: TEXT, soul_template: TEXT }, "?force=true")).toEqual([]);
    expect(await change({ identity_profile: { role: TEXT }, identity_template: TEXT })).toEqual([
      updated("identity_profile", "identity_template"),
    ]);
    expect(await change({ heartbeat_config: { every: "5m" } })).toEqual([updated("heartbeat_config")]);
    expect(await eventsOf(() => send("POST", `${path}/heartbeat`, { agent: home.second.token }, {}))).toEqual([]);
  });

  test("a soul written by the lead publishes a change of the agent", async () => {
    const name = home.second.session_key.split(":")[1]!;
    const target = { url: host.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
    await world.context().gateways.request(target, "agents.create", { name, workspace: `/srv/${name}` });
    const path = `/api/v1/agent/boards/${home.board_id}/agents/${home.second.id}/soul`;
    const give = () => send("PUT", path, lead, { content: `# ${TEXT} again` });
    expect(await typesOf(give)).toEqual([["agent.updated", home.second.id, "soul_template"]]);
    expect(await eventsOf(give)).toEqual([]);
  });

  test("a moved agent publishes a change on both boards", async () => {
    const { id } = await send("POST", "/api/v1/agents", owner, named("Mover"));
    const board = { name: "There", description: "Another board", gateway_id: home.gateway_id };
    const there = await send("POST", "/api/v1/boards", owner, board);
    await database.db.delete(jobs);
    const moved = await eventsOf(() => send("PATCH", `/api/v1/agents/${id}`, owner, { board_id: there.id }));
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

describe("approval events", () => {
  test("an approval publishes approval.requested, then approval.resolved for each decision, and approval.requested when it is reopened", async () => {
    const task = await add();
    const [requested] = await eventsOf(() =>
      requestApproval(world, home, { action_type: TEXT, description: TEXT, task_id: task.id }),
    );
    expect(requested).toMatchObject({
      type: "approval.requested",
      actor: { type: "agent", id: home.worker.id },
      subject: { type: "approval" },
      status: "pending",
      task_ids: [task.id],
    });
    const { id } = requested!.subject;
    const deciding = (status: string) => eventsOf(() => decideApproval(world, home, id, status));
    const resolved = (status: string) => [
      { type: "approval.resolved", subject: { type: "approval", id }, actor: { id: home.owner_id }, status, task_ids: [task.id] },
    ];
    expect(await deciding("approved")).toMatchObject(resolved("approved"));
    expect(await deciding("approved")).toEqual([]);
    expect(await deciding("rejected")).toMatchObject(resolved("rejected"));
    expect(await deciding("pending")).toMatchObject([{ type: "approval.requested", subject: { id }, status: "pending" }]);
  });
});
