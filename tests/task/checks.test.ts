/** The order in which a change is checked: each test sends several mistakes and corrects them one after the other. */
import { tags } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addApproval, addDependencies, openTeamFixture, setRules, type Credential } from "../support/task-rules.ts";
import type { TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, main, add, change, outcome } = await setup(openTeamFixture());
const abroad = await world.tenant("abroad");
const elsewhere = await addBoard(world, team, "Elsewhere");
const tag = { organization_id: team.organization_id, name: "T", slug: "t", color: "ffffff" };
const tag_ids = (await world.db.insert(tags).values(tag).returning()).map(({ id }) => id);

const message = expect.any(String);
const gate = (text: string) => [409, { message: text, blocked_by_task_ids: [] }];
const PENDING = gate("Task status cannot be changed while a linked approval is pending.");
const REVIEW = gate("Task can only be marked done from review when the board rule is enabled.");
const APPROVAL = gate("Task can only be marked done when a linked approval has been approved.");
const FORBIDDEN_FIELD = [403, { code: "task_update_field_forbidden", message }];
const OUTSIDER = [409, "Assignee must be an agent of this board."];
const blockedBy = (...ids: string[]) => [409, { message, code: "task_blocked_cannot_transition", blocked_by_task_ids: ids }];

const missing = crypto.randomUUID();
const gates = {
  block_status_changes_with_pending_approval: true,
  require_review_before_done: true,
  require_approval_for_done: true,
};

/** Makes a move to done that fails at each of the gates, then at the custom fields, and then succeeds. */
async function passGates(who: Credential, task: TaskRow, body: object) {
  const wrong = { ...body, custom_field_values: { nonsense: 1 } };
  await setRules(world, team, gates);
  await addApproval(world, team.board_id, [task.id]);
  expect(await outcome(who, task, wrong)).toEqual(PENDING);
  await setRules(world, team, { ...gates, block_status_changes_with_pending_approval: false });
  expect(await outcome(who, task, wrong)).toEqual(REVIEW);
  await setRules(world, team, { require_approval_for_done: true });
  expect(await outcome(who, task, wrong)).toEqual(APPROVAL);
  await setRules(world, team);
  expect(await outcome(who, task, wrong)).toEqual([422, { message, unknown_field_keys: ["nonsense"] }]);
  expect((await change(who, task, { ...body, custom_field_values: {} })).status).toBe("done");
}

test("a person's change is checked in the documented order", async () => {
  await setRules(world, team, gates);
  const finished = await add({ status: "done" });
  const task = await add({ status: "in_progress" });
  const body: Record<string, unknown> = {
    title: "Changed",
    status: "done",
    assigned_agent_id: missing,
    depends_on_task_ids: [missing],
    tag_ids: [missing],
    custom_field_values: { nonsense: 1 },
  };
  const refused = (change: object = {}) => outcome(owner, task, Object.assign(body, change));
  expect(await outcome(owner, finished, body)).toEqual([404, { message, missing_tag_ids: [missing] }]);
  expect(await outcome(owner, finished, { ...body, tag_ids })).toEqual([
    409,
    "Cannot change task dependencies after a task is done.",
  ]);
  expect(await refused()).toEqual([404, { message, missing_tag_ids: [missing] }]);
  expect(await refused({ tag_ids })).toEqual([404, { message, missing_task_ids: [missing] }]);
  expect(await refused({ depends_on_task_ids: [finished.id] })).toEqual([404, "Not Found"]);
  expect(await refused({ assigned_agent_id: elsewhere.agent.id })).toEqual(OUTSIDER);
  await passGates(owner, task, { ...body, assigned_agent_id: team.worker.id });
});

test.each(["worker", "main agent"] as const)("a change by a %s is checked in the documented order", async (kind) => {
  const [self, who] = kind === "worker" ? [team.worker, worker] : [team.main, main];
  await setRules(world, team, { ...gates, only_lead_can_change_status: true });
  const open = await add();
  const fields = { status: "done", title: "Changed", custom_field_values: { nonsense: 1 } };
  const othersTask = await add({ status: "in_progress", assigned_agent_id: team.second.id });
  expect(await outcome(who, othersTask, fields)).toEqual([403, { code: "task_assignee_mismatch", message }]);
  const task = await add({ status: "in_progress", assigned_agent_id: self.id });
  await addDependencies(world, task, [open]);
  expect(await outcome(who, task, fields)).toEqual(FORBIDDEN_FIELD);
  const body = { ...fields, title: undefined };
  expect(await outcome(who, task, body)).toEqual([
    403,
    { code: "forbidden", message: "Only board leads can change task status." },
  ]);
  await setRules(world, team, gates);
  expect(await outcome(who, task, body)).toEqual(blockedBy(open.id));
  await change(owner, task, { depends_on_task_ids: [] });
  await passGates(who, task, { status: "done" });
});

test("a lead's change is checked in the documented order", async () => {
  await setRules(world, team, gates);
  const [open, finished] = [await add(), await add({ status: "done" })];
  const task = await add({ status: "in_progress" });
  const body: Record<string, unknown> = {
    title: "Changed",
    status: "done",
    assigned_agent_id: missing,
    depends_on_task_ids: [missing],
    tag_ids: [missing],
    custom_field_values: { nonsense: 1 },
  };
  const refused = (change: object = {}) => outcome(lead, task, Object.assign(body, change));
  expect(await refused()).toEqual(FORBIDDEN_FIELD);
  expect(await outcome(lead, finished, { ...body, title: undefined })).toEqual([
    409,
    "Cannot change task dependencies after a task is done.",
  ]);
  expect(await refused({ title: undefined })).toEqual([404, { message, missing_task_ids: [missing] }]);
  expect(await refused({ depends_on_task_ids: [open.id] })).toEqual([404, { message, missing_tag_ids: [missing] }]);
  expect(await refused({ tag_ids })).toEqual(blockedBy(open.id));
  expect(await refused({ depends_on_task_ids: [finished.id] })).toEqual([404, "Not Found"]);
  expect(await refused({ assigned_agent_id: abroad.worker.id })).toEqual([404, "Not Found"]);
  expect(await refused({ assigned_agent_id: team.lead.id })).toEqual([
    403,
    { code: "forbidden", message: "Board leads cannot assign tasks to themselves." },
  ]);
  expect(await refused({ assigned_agent_id: elsewhere.agent.id })).toEqual(OUTSIDER);
  await passGates(lead, task, { ...body, assigned_agent_id: team.worker.id });
});
