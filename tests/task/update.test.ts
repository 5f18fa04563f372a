import { tag_assignments, tags } from "@board/core/schema/all-tables";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import {
  eventsOf,
  addDependencies,
  recordNotices,
  openTeamFixture,
  outcomeOf,
  getTask,
  setRules,
  STATUSES,
  taskPath,
  transitionsOf,
} from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, main, change, outcome } = await setup(openTeamFixture());
const abroad = await world.tenant("abroad");
const elsewhere = await addBoard(world, team, "Elsewhere");
const { organization_id } = team;
const rows = ["Zeta", "Alpha"].map((name) => ({ organization_id, name, slug: name.toLowerCase(), color: "ffffff" }));
const tag_ids = (await world.db.insert(tags).values(rows).returning()).map(({ id }) => id);

beforeEach(() => setRules(world, team));

const PAST = new Date("2026-01-05T08:00:00.000Z");
const add = (fields: Parameters<typeof addTask>[2] = {}) =>
  addTask(world, team, { created_at: PAST, updated_at: PAST, ...fields });
const message = expect.any(String);
const FORBIDDEN_FIELD = [403, { code: "task_update_field_forbidden", message }];
const OUTSIDER = [409, "Assignee must be an agent of this board."];

describe("fields that each actor may change", () => {
  const values = {
    title: "Other",
    description: null,
    priority: "low",
    due_at: null,
    tag_ids: [],
    depends_on_task_ids: [],
    dependencies: [],
  };
  const forbidden = {
    worker: Object.keys(values),
    "main agent": Object.keys(values),
    lead: ["title", "description", "priority", "due_at"],
    person: [],
  };

  test.each(["person", "worker", "main agent", "lead"] as const)(
    "a change of each field by a %s is permitted or refused as documented",
    async (kind) => {
      const who = { person: owner, worker, "main agent": main, lead }[kind];
      for (const [field, value] of Object.entries(values)) {
        const task = await add({ description: "D", due_at: PAST });
        const stopped = (forbidden[kind] as string[]).includes(field);
        const outcome = await outcomeOf(world, who, task, { [field]: value });
        expect([field, outcome]).toEqual([field, stopped ? FORBIDDEN_FIELD : [200, "inbox"]]);
      }
      for (const field of ["tag_ids", "depends_on_task_ids", "dependencies", "custom_field_values", "comment"])
        await change(who, await add(), { [field]: null });
    },
  );

  test("workers can assign a task only to themselves", async () => {
    for (const [who, self] of [
      [worker, team.worker],
      [main, team.main],
    ] as const) {
      for (const other of [team.second.id, team.lead.id, crypto.randomUUID(), null])
        expect(await outcome(who, await add(), { assigned_agent_id: other })).toEqual(FORBIDDEN_FIELD);
      for (const status of STATUSES)
        expect(await change(who, await add({ status }), { assigned_agent_id: self.id.toUpperCase() })).toMatchObject({
          status,
          assigned_agent_id: self.id,
        });
    }
  });

  test("a worker can neither claim nor move another agent's task, and can comment on it", async () => {
    const task = await add({ status: "in_progress", assigned_agent_id: team.second.id });
    const mismatch = [403, { code: "task_assignee_mismatch", message }];
    for (const body of [{ status: "done" }, { status: "inbox", comment: "x" }, { assigned_agent_id: null }])
      expect(await outcome(worker, task, body)).toEqual(mismatch);
    const claimed = [409, { code: "task_already_claimed", message: "Task was claimed by another agent." }];
    for (const body of [
      { status: "in_progress" },
      { assigned_agent_id: team.worker.id },
      { assigned_agent_id: team.worker.id, status: "done" },
      { status: "in_progress", title: "Mine" },
    ])
      expect(await outcome(worker, task, body)).toEqual(claimed);
    const after = await change(worker, task, { comment: "Need a hand?" });
    expect([after.assigned_agent_id, await eventsOf(world, task)]).toEqual([team.second.id, [["task.comment", "Need a hand?"]]]);
  });

  test("a comment alone does not claim a task", async () => {
    const task = await add({ status: "in_progress" });
    expect((await change(worker, task, { comment: "Whose is it?" })).assigned_agent_id).toBeNull();
    expect((await change(worker, task, { status: "in_progress" })).assigned_agent_id).toBe(team.worker.id);
  });

  test("only_lead_can_change_status lets workers claim and comment without a move, and lets people change the status", async () => {
    await setRules(world, team, { only_lead_can_change_status: true });
    const task = await add({ status: "in_progress" });
    expect((await change(worker, task, { status: "in_progress", comment: "On it" })).assigned_agent_id).toBe(team.worker.id);
    expect((await change(owner, task, { status: "done" })).status).toBe("done");
  });

  test("an assignee must be an agent of the board or the gateway's main agent", async () => {
    const task = await add();
    for (const { id } of [team.worker, team.main, team.lead])
      expect((await change(owner, task, { assigned_agent_id: id })).assigned_agent_id).toBe(id);
    for (const { id } of [team.worker, team.main])
      expect((await change(lead, task, { assigned_agent_id: id })).assigned_agent_id).toBe(id);
    expect(await outcome(owner, task, { assigned_agent_id: elsewhere.agent.id })).toEqual(OUTSIDER);
    expect(await outcome(owner, task, { assigned_agent_id: abroad.worker.id })).toEqual([404, "Not Found"]);
  });

  test("a lead of another board has no lead rights on the board", async () => {
    const other = { name: "Other lead", board_id: elsewhere.board_id, is_board_lead: true };
    const otherLead = (await world.call("POST", "/api/v1/agents", { token: team.owner.token, body: other })).body;
    const task = await add();
    expect(await outcome({ agent: otherLead.auth_token }, task, { status: "done" })).toEqual([
      403,
      { code: "forbidden", message: "Board access denied" },
    ]);
    expect(await outcome(lead, task, { assigned_agent_id: otherLead.id })).toMatchObject([403, { code: "forbidden" }]);
    expect(await outcome(owner, task, { assigned_agent_id: otherLead.id })).toEqual(OUTSIDER);
  });
});

describe("changing a task", () => {
  test("a change of every field is returned and stored", async () => {
    const [first, second] = [await add({ status: "done" }), await add({ status: "done" })];
    const task = await add();
    const body = {
      title: " New title ",
      description: " New\ntext ",
      priority: " p0 ",
      due_at: "2026-12-24T01:00:00+02:00",
      assigned_agent_id: team.worker.id,
      depends_on_task_ids: [second.id, first.id, second.id],
      tag_ids: [tag_ids[1], tag_ids[0], tag_ids[1]],
    };
    const after = await change(owner, task, body);
    expect(after).toMatchObject({
      ...body,
      id: task.id,
      title: "New title",
      priority: "p0",
      due_at: "2026-12-23T23:00:00.000Z",
      depends_on_task_ids: [second.id, first.id],
      tag_ids: [tag_ids[1], tag_ids[0]],
      tags: [{ name: "Alpha" }, { name: "Zeta" }],
      created_at: PAST.toISOString(),
    });
    expect(Date.parse(after.updated_at)).toBeGreaterThan(PAST.getTime());
    expect((await world.call("GET", taskPath(team, task.id), owner)).body).toEqual(after);
    expect((await change(owner, task, { tag_ids: [tag_ids[0]] })).tags).toMatchObject([{ name: "Zeta" }]);
    const cleared = { description: null, due_at: null, assigned_agent_id: null, tag_ids: [], depends_on_task_ids: [] };
    expect(await change(owner, task, cleared)).toMatchObject(cleared);
  });

  test.each([
    [{ title: null }, "string_type"],
    [{ title: " " }, "string_too_short"],
    [{ title: "t".repeat(501) }, "string_too_long"],
    [{ status: null }, "literal_error"],
    [{ status: "open" }, "literal_error"],
    [{ priority: null }, "string_type"],
    [{ priority: " " }, "string_too_short"],
    [{ due_at: 5 }, "string_type"],
    [{ assigned_agent_id: "" }, "uuid_parsing"],
    [{ tag_ids: {} }, "list_type"],
    [{ depends_on_task_ids: [1] }, "string_type"],
    [{ custom_field_values: 1 }, "dict_type"],
    [{ comment: 1 }, "string_type"],
    [{ comment: "c".repeat(100_001) }, "string_too_long"],
  ] as [object, string][])("an invalid change is refused: %.60j", async (body, type) => {
    const task = await add();
    for (const who of [owner, worker, lead]) expect(await outcome(who, task, body)).toMatchObject([422, [{ type }]]);
  });

  test("dependencies can be changed under either name, and depends_on_task_ids takes precedence", async () => {
    const [first, second] = [await add({ status: "done" }), await add({ status: "done" })];
    for (const who of [owner, lead]) {
      const ids = async (body: object) => (await change(who, await add(), body)).depends_on_task_ids;
      expect(await ids({ dependencies: [first.id] })).toEqual([first.id]);
      expect(await ids({ dependencies: [first.id], depends_on_task_ids: [second.id] })).toEqual([second.id]);
      expect(await ids({ dependencies: [first.id], depends_on_task_ids: null })).toEqual([first.id]);
    }
  });

  test("a blank comment in a change is ignored", async () => {
    await setRules(world, team, { comment_required_for_review: true });
    for (const comment of ["", " \n\t", null]) {
      const task = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
      await change(worker, task, { comment });
      expect(await outcome(worker, task, { status: "review", comment })).toEqual([422, "Comment is required."]);
      expect(await eventsOf(world, task)).toEqual([]);
    }
  });

  test("a change without effect changes no time, records no event and notifies no agent", async () => {
    const first = await add({ status: "done" });
    const started = {
      status: "in_progress",
      assigned_agent_id: team.worker.id,
      in_progress_at: PAST,
      last_started_at: PAST,
    } as const;
    const task = await add({ ...started, title: "Same", description: "D", due_at: PAST });
    await addDependencies(world, task, [first]);
    await world.db.insert(tag_assignments).values(tag_ids.map((tag_id, position) => ({ tag_id, position, task_id: task.id })));
    const status = { status: "in_progress" };
    const whole = {
      ...status,
      title: " Same ",
      description: "D",
      priority: "medium",
      due_at: "2026-01-05T09:00:00+01:00",
      assigned_agent_id: team.worker.id.toUpperCase(),
      depends_on_task_ids: [first.id],
      tag_ids: [...tag_ids, tag_ids[0]],
      custom_field_values: {},
    };
    const readNotices = await recordNotices(world, team);
    for (const [who, bodies] of [
      [owner, [{}, status, whole, { unknown: 1 }, { tag_ids: null, comment: "" }]],
      [worker, [{}, status, { ...status, assigned_agent_id: team.worker.id }, { comment: " " }]],
      [lead, [{}, status, { assigned_agent_id: team.worker.id, depends_on_task_ids: [first.id], tag_ids }]],
    ] as const)
      for (const body of bodies) {
        expect((await change(who, task, body)).updated_at).toBe(PAST.toISOString());
        expect(await getTask(world, task.id)).toEqual(task);
      }
    expect([await eventsOf(world, task), await transitionsOf(world, task.id), await readNotices()]).toEqual([[], [], []]);
  });

  test("a new order of tags or dependencies is a change", async () => {
    const [first, second] = [await add({ status: "done" }), await add({ status: "done" })];
    const task = await add();
    await change(owner, task, { depends_on_task_ids: [first.id, second.id], tag_ids });
    const reversed = { depends_on_task_ids: [second.id, first.id], tag_ids: tag_ids.toReversed() };
    expect(await change(owner, task, reversed)).toMatchObject(reversed);
    expect(await eventsOf(world, task)).toHaveLength(2);
  });
});
