import { expect, test } from "vitest";
import { openPullBoard } from "../support/pull-board.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const gates = { block_status_changes_with_pending_approval: true, require_approval_for_done: true };
const board = await openPullBoard(world, "owner", gates);

const OPTIONS = [
  { id: "once", name: "Allow", kind: "allow_once" },
  { id: "always", name: "Always in this task", kind: "allow_always" },
  { id: "no", name: "Reject", kind: "reject_once" },
];
const approvals = () => `/api/v1/boards/${board.board_id}/approvals`;
const task = (id: string) => `/api/v1/boards/${board.board_id}/tasks/${id}`;

async function ask(task_id: string) {
  const payload = { title: "rm build", tool: "execute", excerpt: "rm -r build", options: OPTIONS };
  const body = { action_type: "run.permission", description: "rm build", task_ids: [task_id], payload };
  const answer = await world.call("POST", approvals(), { agent: board.worker.token, body });
  expect(answer.status).toBe(200);
  return answer.body;
}

const decide = (id: string, body: object) => world.call("PATCH", `${approvals()}/${id}`, { token: board.owner.token, body });

test("a task may have several pending permissions, and none of them blocks its moves", async () => {
  const task_id = await board.addTask();
  const [first, second] = [await ask(task_id), await ask(task_id)];
  expect([first.task_ids, second.task_ids]).toEqual([[task_id], [task_id]]);
  const moved = await world.call("PATCH", task(task_id), { agent: board.worker.token, body: { status: "in_progress" } });
  expect(moved.status).toBe(200);
});

test("a decision selects the option that the person chose, or else the option that allows or rejects once", async () => {
  const task_id = await board.addTask();
  const always = await decide((await ask(task_id)).id, { status: "approved", option_id: "always" });
  expect(always.body.payload).toMatchObject({ selected_option: "always", excerpt: "rm -r build" });
  expect((await decide((await ask(task_id)).id, { status: "approved" })).body.payload.selected_option).toBe("once");
  expect((await decide((await ask(task_id)).id, { status: "rejected" })).body.payload.selected_option).toBe("no");
});

test("a decision with an option that the permission does not have, or that contradicts the status, is refused", async () => {
  const { id } = await ask(await board.addTask());
  expect((await decide(id, { status: "rejected", option_id: "once" })).status).toBe(422);
  expect((await decide(id, { status: "approved", option_id: "other" })).status).toBe(422);
  const body = { action_type: "deploy", description: "It is ready", task_ids: [await board.addTask()] };
  const plain = await world.call("POST", approvals(), { agent: board.worker.token, body });
  expect((await decide(plain.body.id, { status: "approved", option_id: "once" })).status).toBe(422);
});

test("a permission does not approve the result of the task", async () => {
  const task_id = await board.addTask();
  await decide((await ask(task_id)).id, { status: "approved" });
  await world.call("PATCH", task(task_id), { agent: board.worker.token, body: { status: "in_progress" } });
  await world.call("PATCH", task(task_id), { agent: board.worker.token, body: { status: "review", comment: "Done" } });
  const done = await world.call("PATCH", task(task_id), { agent: board.lead.token, body: { status: "done" } });
  expect([done.status, done.text]).toEqual([409, expect.stringContaining("approv")]);
});

test("a decided permission notifies no agent, and cannot be withdrawn", async () => {
  const { id } = await ask(await board.addTask());
  await decide(id, { status: "approved" });
  for (const agent of [board.worker, board.lead]) {
    const { body } = await board.inbox(agent);
    expect(body.messages.filter(({ text }: { text: string }) => text.includes(id))).toEqual([]);
    expect(body.counts.approvals_decided).toBe(0);
  }
  expect((await decide(id, { status: "pending" })).status).toBe(409);
});
