import { tag_assignments, tags } from "@board/core/db/schema";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import {
  changeTask,
  eventsOf,
  link,
  noticesFrom,
  openTeam,
  outcomeOf,
  readTask,
  setRules,
  STATUSES,
  taskPath,
  type Team,
  transitionsOf,
  type Who,
} from "./support/task-rules.ts";
import { addTask, type TaskRow } from "./support/task.ts";
import type { Tenant, World } from "./support/world.ts";

let world: World;
let team: Team;
let abroad: Tenant;
let elsewhere: Awaited<ReturnType<typeof addBoard>>;
let owner: Who;
let worker: Who;
let lead: Who;
let main: Who;
let tag_ids: string[];

beforeAll(async () => {
  ({ world, team, owner, worker, lead, main } = await openTeam());
  abroad = await world.tenant("abroad");
  elsewhere = await addBoard(world, team, "Elsewhere");
  const { organization_id } = team;
  const made = ["Zeta", "Alpha"].map((name) => ({ organization_id, name, slug: name.toLowerCase(), color: "ffffff" }));
  tag_ids = (await world.db.insert(tags).values(made).returning()).map(({ id }) => id);
});
afterAll(() => world.close());
beforeEach(() => setRules(world, team));

const PAST = new Date("2026-01-05T08:00:00.000Z");
const add = (fields: Parameters<typeof addTask>[2] = {}) =>
  addTask(world, team, { created_at: PAST, updated_at: PAST, ...fields });
const change = (who: Who, task: TaskRow, body: object) => changeTask(world, who, task, body);
const refusal = (who: Who, task: TaskRow, body: object) => outcomeOf(world, who, task, body);
const message = expect.any(String);
const FORBIDDEN_FIELD = [403, { code: "task_update_field_forbidden", message }];
const OUTSIDER = [409, "Assignee must be an agent of this board."];

describe("what may be changed", () => {
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

  test.each(["person", "worker", "main agent", "lead"] as const)("by a %s, each field by itself", async (kind) => {
    const who = { person: owner, worker, "main agent": main, lead }[kind];
    for (const [field, value] of Object.entries(values)) {
      const task = await add({ description: "D", due_at: PAST });
      const stopped = (forbidden[kind] as string[]).includes(field);
      const outcome = await outcomeOf(world, who, task, { [field]: value });
      expect([field, outcome]).toEqual([field, stopped ? FORBIDDEN_FIELD : [200, "inbox"]]);
    }
    for (const field of ["tag_ids", "depends_on_task_ids", "dependencies", "custom_field_values", "comment"])
      await change(who, await add(), { [field]: null });
  });

  test("workers name themselves as assignee, and nobody else", async () => {
    for (const [who, self] of [
      [worker, team.worker],
      [main, team.main],
    ] as const) {
      for (const other of [team.second.id, team.lead.id, crypto.randomUUID(), null])
        expect(await refusal(who, await add(), { assigned_agent_id: other })).toEqual(FORBIDDEN_FIELD);
      for (const status of STATUSES)
        expect(await change(who, await add({ status }), { assigned_agent_id: self.id.toUpperCase() })).toMatchObject({
          status,
          assigned_agent_id: self.id,
        });
    }
  });

  test("a worker neither takes nor moves what another agent has, and may still comment on it", async () => {
    const task = await add({ status: "in_progress", assigned_agent_id: team.second.id });
    const mismatch = [403, { code: "task_assignee_mismatch", message }];
    for (const body of [
      { status: "done" },
      { status: "in_progress" },
      { assigned_agent_id: team.worker.id },
      { status: "inbox", comment: "x" },
    ])
      expect(await refusal(worker, task, body)).toEqual(mismatch);
    const after = await change(worker, task, { comment: "Need a hand?" });
    expect([after.assigned_agent_id, await eventsOf(world, task)]).toEqual([team.second.id, [["task.comment", "Need a hand?"]]]);
  });

  test("a comment alone claims nothing", async () => {
    const task = await add({ status: "in_progress" });
    expect((await change(worker, task, { comment: "Whose is it?" })).assigned_agent_id).toBeNull();
    expect((await change(worker, task, { status: "in_progress" })).assigned_agent_id).toBe(team.worker.id);
  });

  test("only_lead_can_change_status stops neither a claim without a move nor a comment nor people", async () => {
    await setRules(world, team, { only_lead_can_change_status: true });
    const task = await add({ status: "in_progress" });
    expect((await change(worker, task, { status: "in_progress", comment: "On it" })).assigned_agent_id).toBe(team.worker.id);
    expect((await change(owner, task, { status: "done" })).status).toBe("done");
  });

  test("an assignee has to be of the board or the main agent of its gateway", async () => {
    const task = await add();
    for (const { id } of [team.worker, team.main, team.lead])
      expect((await change(owner, task, { assigned_agent_id: id })).assigned_agent_id).toBe(id);
    for (const { id } of [team.worker, team.main])
      expect((await change(lead, task, { assigned_agent_id: id })).assigned_agent_id).toBe(id);
    expect(await refusal(owner, task, { assigned_agent_id: elsewhere.agent.id })).toEqual(OUTSIDER);
    expect(await refusal(owner, task, { assigned_agent_id: abroad.worker.id })).toEqual([404, "Not Found"]);
  });

  test("a lead of another board is no lead here", async () => {
    const other = { name: "Other lead", board_id: elsewhere.board_id, is_board_lead: true };
    const made = (await world.call("POST", "/api/v1/agents", { token: team.owner.token, body: other })).body;
    const task = await add();
    expect(await refusal({ agent: made.auth_token }, task, { status: "done" })).toEqual([
      403,
      { code: "forbidden", message: "Board access denied" },
    ]);
    expect(await refusal(lead, task, { assigned_agent_id: made.id })).toMatchObject([403, { code: "forbidden" }]);
    expect(await refusal(owner, task, { assigned_agent_id: made.id })).toEqual(OUTSIDER);
  });
});

describe("a change", () => {
  test("of every field is shown, and kept", async () => {
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
  ] as [object, string][])("that is none is refused: %.60j", async (body, type) => {
    const task = await add();
    for (const who of [owner, worker, lead]) expect(await refusal(who, task, body)).toMatchObject([422, [{ type }]]);
  });

  test("names its dependencies by either name, and the longer one wins", async () => {
    const [one, other] = [await add({ status: "done" }), await add({ status: "done" })];
    for (const who of [owner, lead]) {
      const ids = async (body: object) => (await change(who, await add(), body)).depends_on_task_ids;
      expect(await ids({ dependencies: [one.id] })).toEqual([one.id]);
      expect(await ids({ dependencies: [one.id], depends_on_task_ids: [other.id] })).toEqual([other.id]);
      expect(await ids({ dependencies: [one.id], depends_on_task_ids: null })).toEqual([one.id]);
    }
  });

  test("with a blank comment has no comment", async () => {
    await setRules(world, team, { comment_required_for_review: true });
    for (const comment of ["", " \n\t", null]) {
      const task = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
      await change(worker, task, { comment });
      expect(await refusal(worker, task, { status: "review", comment })).toEqual([422, "Comment is required."]);
      expect(await eventsOf(world, task)).toEqual([]);
    }
  });

  test("that changes nothing is no change: no time moves, nothing is recorded and nobody told", async () => {
    const first = await add({ status: "done" });
    const held = {
      status: "in_progress",
      assigned_agent_id: team.worker.id,
      in_progress_at: PAST,
      last_started_at: PAST,
    } as const;
    const task = await add({ ...held, title: "Same", description: "D", due_at: PAST });
    await link(world, task, [first]);
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
    const told = await noticesFrom(world, team);
    for (const [who, bodies] of [
      [owner, [{}, status, whole, { unknown: 1 }, { tag_ids: null, comment: "" }]],
      [worker, [{}, status, { ...status, assigned_agent_id: team.worker.id }, { comment: " " }]],
      [lead, [{}, status, { assigned_agent_id: team.worker.id, depends_on_task_ids: [first.id], tag_ids }]],
    ] as const)
      for (const body of bodies) {
        expect((await change(who, task, body)).updated_at).toBe(PAST.toISOString());
        expect(await readTask(world, task.id)).toEqual(task);
      }
    expect([await eventsOf(world, task), await transitionsOf(world, task.id), await told()]).toEqual([[], [], []]);
  });

  test("of the order of tags or dependencies is one", async () => {
    const [first, second] = [await add({ status: "done" }), await add({ status: "done" })];
    const task = await add();
    await change(owner, task, { depends_on_task_ids: [first.id, second.id], tag_ids });
    const turned = { depends_on_task_ids: [second.id, first.id], tag_ids: tag_ids.toReversed() };
    expect(await change(owner, task, turned)).toMatchObject(turned);
    expect(await eventsOf(world, task)).toHaveLength(2);
  });
});
