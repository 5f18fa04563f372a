import { activity_events, jobs, tasks } from "@board/core/schema/all-tables";
import { count } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { createTeam, getTask, setRules, STATUSES, transitionsOf } from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const team = await createTeam(world, "home");
const abroad = await world.tenant("abroad");
const elsewhere = await addBoard(world, team, "Elsewhere");
const foreign_tag: { id: string } = (
  await world.call("POST", "/api/v1/tags", { token: abroad.owner.token, body: { name: "Ours" } })
).body;
const tag_ids: string[] = [];
for (const name of ["Zeta", "Alpha"])
  tag_ids.push((await world.call("POST", "/api/v1/tags", { token: team.owner.token, body: { name } })).body.id);

beforeEach(() => setRules(world, team));

const path = (board_id = team.board_id) => `/api/v1/boards/${board_id}/tasks`;
const agentPath = (board_id = team.board_id) => `/api/v1/agent/boards/${board_id}/tasks`;
const create = (body: unknown) => world.call("POST", path(), { token: team.owner.token, body });
const createAsLead = (body: unknown) => world.call("POST", agentPath(), { agent: team.lead.token, body });
/** Returns the numbers of tasks, events and jobs. */
const countRows = () =>
  Promise.all([tasks, activity_events, jobs].map(async (table) => (await world.db.select({ n: count() }).from(table))[0]!.n));

describe("creating a task", () => {
  test("a new task is returned with every field, with defaults for the fields that were not sent", async () => {
    for (const [at, body] of [
      [path(), { title: "  Sweep the floor " }],
      ["/api/v1/tasks", { title: "Sweep the floor", board_id: team.board_id }],
    ] as const) {
      const created = await world.call("POST", at, { token: team.owner.token, body });
      const { id, created_at } = created.body;
      expect([created.status, created.body]).toEqual([
        200,
        {
          id,
          board_id: team.board_id,
          title: "Sweep the floor",
          description: null,
          status: "inbox",
          priority: "medium",
          due_at: null,
          assigned_agent_id: null,
          submitted_by_agent_id: null,
          created_by_user_id: team.owner_id,
          in_progress_at: null,
          depends_on_task_ids: [],
          blocked_by_task_ids: [],
          is_blocked: false,
          lease: null,
          run: null,
          usage: { total_tokens: 0, cost_usd: null, runs: 0 },
          tag_ids: [],
          tags: [],
          custom_field_values: {},
          created_at,
          updated_at: created_at,
        },
      ]);
      expect((await world.call("GET", `${path()}/${id}`, { token: team.owner.token })).body).toEqual(created.body);
      expect(await getTask(world, id)).toMatchObject({ auto_created: false, auto_reason: null });
    }
  });

  test("a task created by a lead has no creating user and is marked as created by the lead", async () => {
    const created = await createAsLead({ title: "Split up" });
    expect([created.status, created.body.created_by_user_id]).toEqual([200, null]);
    const auto_reason = `lead_agent:${team.lead.id}`;
    expect(await getTask(world, created.body.id)).toMatchObject({ auto_created: true, auto_reason });
  });

  test("a new task stores every field as sent: dependencies and tags in order, each once", async () => {
    const [first, second] = [await addTask(world, team, { status: "done" }), await addTask(world, team)];
    const body = {
      title: "t".repeat(500),
      description: " With the\nbig broom ",
      status: "blocked",
      priority: " urgent ",
      due_at: "2026-12-24",
      depends_on_task_ids: [second.id, first.id.toUpperCase(), second.id],
      tag_ids: [tag_ids[1], tag_ids[0]!.toUpperCase(), tag_ids[1]],
    };
    for (const created of [await create(body), await createAsLead(body)])
      expect([created.status, created.body]).toMatchObject([
        200,
        {
          ...body,
          priority: "urgent",
          due_at: "2026-12-24T00:00:00.000Z",
          depends_on_task_ids: [second.id, first.id],
          blocked_by_task_ids: [second.id],
          is_blocked: true,
          tag_ids: [tag_ids[1], tag_ids[0]],
          tags: [{ name: "Alpha" }, { name: "Zeta" }],
        },
      ]);
  });

  test("a new task's creator, board and times cannot be set by the body", async () => {
    const forged = {
      created_by_user_id: crypto.randomUUID(),
      board_id: elsewhere.board_id,
      in_progress_at: "2020-01-01",
      id: "x",
    };
    const { body } = await create({ title: "Forged", ...forged, auto_created: true, auto_reason: "lead_agent:me" });
    expect(body).toMatchObject({ created_by_user_id: team.owner_id, board_id: team.board_id, in_progress_at: null });
    expect(await getTask(world, body.id)).toMatchObject({ auto_created: false, auto_reason: null });
  });

  test("dependencies can also be sent as `dependencies`, and depends_on_task_ids takes precedence", async () => {
    const [first, second] = [await addTask(world, team), await addTask(world, team)];
    const ids = async (body: object) => (await create({ title: "Later", ...body })).body.depends_on_task_ids;
    expect(await ids({ dependencies: [first.id] })).toEqual([first.id]);
    expect(await ids({ dependencies: [first.id], depends_on_task_ids: [second.id] })).toEqual([second.id]);
    expect(await ids({ dependencies: [first.id], depends_on_task_ids: [] })).toEqual([]);
    expect(await ids({ dependencies: [first.id], depends_on_task_ids: null })).toEqual([first.id]);
  });

  test("a new task may have null in every optional field", async () => {
    const nothing = { description: null, due_at: null, assigned_agent_id: null, depends_on_task_ids: null, tag_ids: null };
    expect((await create({ title: "Bare", ...nothing, dependencies: null, custom_field_values: null })).status).toBe(200);
  });

  test.each(STATUSES)("a task created as %s has the times of a task that moves there, and one transition", async (status) => {
    for (const created of [await create({ title: "Placed", status }), await createAsLead({ title: "Placed", status })]) {
      const row = await getTask(world, created.body.id);
      const { created_at, in_progress_at } = row;
      const started = status === "in_progress" ? created_at : null;
      expect([created.status, created.body.status, in_progress_at]).toEqual([200, status, started]);
      expect(row).toMatchObject({
        last_started_at: started,
        done_at: status === "done" ? created_at : null,
        left_done_at: null,
      });
      const [agent_id, user_id] = row.auto_created ? [team.lead.id, null] : [null, team.owner_id];
      expect(await transitionsOf(world, row.id)).toMatchObject([
        { from_status: null, to_status: status, at: created_at, in_progress_at, agent_id, user_id },
      ]);
    }
  });
});

describe("the assignee of a new task", () => {
  test("a person may assign any agent of the board or the gateway's main agent, in any status", async () => {
    for (const status of STATUSES)
      for (const { id } of [team.worker, team.second, team.main, team.lead]) {
        const created = await create({ title: "Given", status, assigned_agent_id: id });
        expect([created.status, created.body.assigned_agent_id]).toEqual([200, id]);
      }
  });

  test("a lead may assign a new task to a worker or the main agent, but neither to itself nor to the lead of another board", async () => {
    for (const { id } of [team.worker, team.main])
      expect((await createAsLead({ title: "Delegated", assigned_agent_id: id })).body.assigned_agent_id).toBe(id);
    const other = { name: "Other lead", board_id: elsewhere.board_id, is_board_lead: true };
    const lead = (await world.call("POST", "/api/v1/agents", { token: team.owner.token, body: other })).body;
    for (const id of [team.lead.id, lead.id]) {
      const refused = await createAsLead({ title: "Mine", assigned_agent_id: id });
      const message = "Board leads cannot assign tasks to themselves.";
      const body = { detail: { code: "forbidden", message }, code: "forbidden", retryable: false };
      expect([refused.status, refused.body]).toEqual([403, body]);
    }
  });
});

describe("checks of a new task", () => {
  test.each([
    ["a person", create, false],
    ["a lead", createAsLead, true],
  ] as const)(
    "a task that %s creates is checked in the documented order, and nothing is stored if it is refused",
    async (_who, make, leads) => {
      await setRules(world, team, { require_review_before_done: true, require_approval_for_done: true });
      const [missing, unknownAgent] = [crypto.randomUUID(), crypto.randomUUID()];
      const [open, done] = [await addTask(world, team), await addTask(world, team, { status: "done" })];
      const foreign = await addTask(world, { board_id: elsewhere.board_id });
      const body: Record<string, unknown> = {
        title: "Wrong",
        status: "done",
        assigned_agent_id: unknownAgent,
        depends_on_task_ids: [open.id, missing, foreign.id],
        tag_ids: [missing, tag_ids[0], foreign_tag.id],
        custom_field_values: { nonsense: 1 },
      };
      // An agent's first request records an event.
      expect((await make({ title: "Right" })).status).toBe(200);
      const before = await countRows();
      const refusal = async (change: object = {}) => {
        const answer = await make(Object.assign(body, change));
        expect(await countRows()).toEqual(before);
        return [answer.status, answer.body.detail];
      };

      const message = expect.any(String);
      expect(await refusal()).toEqual([404, { message, missing_task_ids: [missing, foreign.id] }]);
      expect(await refusal({ depends_on_task_ids: [open.id] })).toEqual([
        404,
        { message, missing_tag_ids: [missing, foreign_tag.id] },
      ]);
      const blocked = { message, code: "task_blocked_cannot_transition", blocked_by_task_ids: [open.id] };
      expect(await refusal({ tag_ids })).toEqual([409, blocked]);
      expect(await refusal({ depends_on_task_ids: [done.id] })).toEqual([404, "Not Found"]);
      expect(await refusal({ assigned_agent_id: abroad.worker.id })).toEqual([404, "Not Found"]);
      const own = { code: "forbidden", message: "Board leads cannot assign tasks to themselves." };
      expect(await refusal({ assigned_agent_id: leads ? team.lead.id : abroad.worker.id })).toEqual(
        leads ? [403, own] : [404, "Not Found"],
      );
      const outsider = [409, "Assignee must be an agent of this board."];
      expect(await refusal({ assigned_agent_id: elsewhere.agent.id })).toEqual(outsider);
      const gate = (text: string) => [409, { message: text, blocked_by_task_ids: [] }];
      expect(await refusal({ assigned_agent_id: team.worker.id })).toEqual(
        gate("Task can only be marked done from review when the board rule is enabled."),
      );
      await setRules(world, team, { require_approval_for_done: true });
      expect(await refusal()).toEqual(gate("Task can only be marked done when a linked approval has been approved."));
      await setRules(world, team);
      expect(await refusal()).toEqual([422, { message, unknown_field_keys: ["nonsense"] }]);
      expect((await make({ ...body, custom_field_values: {} })).status).toBe(200);
    },
  );

  test("a new task may have an unfinished dependency only if it is unassigned and is in the inbox or blocked", async () => {
    const [open, done] = [await addTask(world, team, { status: "review" }), await addTask(world, team, { status: "done" })];
    const depends_on_task_ids = [done.id, open.id];
    for (const make of [create, createAsLead])
      for (const status of STATUSES)
        for (const assigned_agent_id of [null, team.worker.id]) {
          const answer = await make({ title: "Waits", status, assigned_agent_id, depends_on_task_ids });
          const may = assigned_agent_id === null && (status === "inbox" || status === "blocked");
          expect([status, answer.status, (may ? answer.body : answer.body.detail).blocked_by_task_ids]).toEqual([
            status,
            may ? 200 : 409,
            [open.id],
          ]);
        }
  });

  test("board rules apply only to a task that is created as done", async () => {
    const rules = { require_review_before_done: true, require_approval_for_done: true, comment_required_for_review: true };
    await setRules(world, team, {
      ...rules,
      only_lead_can_change_status: true,
      block_status_changes_with_pending_approval: true,
    });
    for (const status of STATUSES)
      for (const make of [create, createAsLead])
        expect([status, (await make({ title: "Placed", status })).status]).toEqual([status, status === "done" ? 409 : 200]);
  });
});

test.each([
  [{}, "missing", "title"],
  [{ title: null }, "string_type", "title"],
  [{ title: " " }, "string_too_short", "title"],
  [{ title: "t".repeat(501) }, "string_too_long", "title"],
  [{ title: "a\0b" }, "value_error", "title"],
  [{ title: "t", description: 5 }, "string_type", "description"],
  [{ title: "t", description: "d".repeat(100_001) }, "string_too_long", "description"],
  [{ title: "t", status: "started" }, "literal_error", "status"],
  [{ title: "t", status: null }, "literal_error", "status"],
  [{ title: "t", priority: null }, "string_type", "priority"],
  [{ title: "t", priority: "" }, "string_too_short", "priority"],
  [{ title: "t", priority: "p".repeat(51) }, "string_too_long", "priority"],
  [{ title: "t", due_at: "soon" }, "datetime_parsing", "due_at"],
  [{ title: "t", due_at: "1899-12-31" }, "datetime_parsing", "due_at"],
  [{ title: "t", assigned_agent_id: "worker" }, "uuid_parsing", "assigned_agent_id"],
  [{ title: "t", depends_on_task_ids: "x" }, "list_type", "depends_on_task_ids"],
  [{ title: "t", depends_on_task_ids: Array(201).fill(crypto.randomUUID()) }, "too_long", "depends_on_task_ids"],
  [{ title: "t", dependencies: ["x"] }, "uuid_parsing", "dependencies"],
  [{ title: "t", tag_ids: [null] }, "string_type", "tag_ids"],
  [{ title: "t", custom_field_values: [] }, "dict_type", "custom_field_values"],
] as [object, string, string][])("an invalid task is refused and its field is named: %.60j", async (body, type, field) => {
  const answers = [
    await create(body),
    await createAsLead(body),
    await world.call("POST", "/api/v1/tasks", { token: team.owner.token, body: { ...body, board_id: team.board_id } }),
  ];
  for (const { status, body: answer } of answers) {
    expect([status, answer.detail]).toMatchObject([422, [{ type }]]);
    expect(answer.detail[0].loc.slice(0, 2)).toEqual(["body", field]);
  }
});
