import { expect, test } from "vitest";
import { connectMcp } from "../mcp/support.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";

const world = await setupWorld();

const USAGE = { input_tokens: 100, output_tokens: 20, cost_usd: "0.5" };

test("usage sent with a comment or a change of a task counts for the task, even when the lease was lost", async () => {
  const { owner, worker, board_id, call } = await openPullBoard(world, "usage");
  await call("POST", `/api/v1/boards/${board_id}/tasks`, owner.token, { title: "Paint" });
  const { use } = await connectMcp(world, worker.token);
  const { task, lease } = (await use("next_task")).data;
  expect((await use("comment_on_task", { task_id: task.id, content: "Half", usage: { ...USAGE, key: "a" } })).refused).toBe(
    false,
  );
  const stale = { task_id: task.id, fence: lease.fence + 1, status: "review", comment: "Done", usage: USAGE };
  expect((await use("update_task", stale)).refused).toBe(true);
  expect((await use("update_task", { ...stale, fence: lease.fence, usage: { ...USAGE, key: "a" } })).refused).toBe(false);
  const answer = await world.call("GET", `/api/v1/boards/${board_id}/tasks/${task.id}`, { token: owner.token });
  expect(answer.body).toMatchObject({ status: "review", usage: { total_tokens: 240, cost_usd: "1", runs: 1 } });
  const metrics = await world.call("GET", "/api/v1/metrics/usage?group_by=task", { token: owner.token });
  expect(metrics.body.total.work).toMatchObject({ entries: 2, runs: 1 });
  const asOwner = await connectMcp(world, owner.token);
  const refused = await asOwner.use("comment_on_task", { task_id: task.id, board_id, content: "Hi", usage: USAGE });
  expect([refused.refused, refused.text]).toEqual([true, expect.stringContaining("Only agents report usage")]);
});

test("a comment or a change whose usage cannot be counted is kept, and the answer says that the usage was not counted", async () => {
  const limited = await setup(createWorld({ limits: { organization_usage_entries_per_day: 1 } }));
  const { owner, worker, board_id, call } = await openPullBoard(limited, "limited");
  await call("POST", `/api/v1/boards/${board_id}/tasks`, owner.token, { title: "Paint" });
  const { use } = await connectMcp(limited, worker.token);
  const { task, lease } = (await use("next_task")).data;
  const comment = (content: string) => use("comment_on_task", { task_id: task.id, content, usage: USAGE });
  const first = await comment("One");
  expect([first.refused, first.data.usage_problem]).toEqual([false, undefined]);
  const second = await comment("Two");
  expect([second.refused, second.data.usage_problem]).toEqual([false, expect.stringContaining("reported 1 usage entries today")]);
  expect(second.text).toContain("the usage was not counted");
  const submit = { task_id: task.id, fence: lease.fence, status: "review", comment: "Done", usage: USAGE };
  const submitted = await use("update_task", submit);
  expect([submitted.refused, submitted.data.task.status]).toEqual([false, "review"]);
  expect(submitted.text).toContain("the usage was not counted");
  const refused = await use("update_task", submit);
  expect([refused.refused, refused.data.code]).toEqual([true, "task_assignee_mismatch"]);
  const { items } = (await call("GET", `/api/v1/boards/${board_id}/tasks/${task.id}/comments`, owner.token)).body;
  expect(items.map(({ message }: { message: string }) => message).toSorted()).toEqual(["Done", "One", "Two"]);
});

test("the data of next_task also says that there is work whose budget is spent", async () => {
  const { owner, worker, board_id, call, addTask } = await openPullBoard(world, "spent");
  await addTask();
  const limit = { total_tokens: 0 };
  const budget = await call("POST", "/api/v1/budgets", owner.token, { scope: "board", scope_id: board_id, limit });
  const { data, text } = await (await connectMcp(world, worker.token)).use("next_task");
  expect(data).toMatchObject({ task: null, reason: "budget_exhausted", budget_ids: [budget.body.id] });
  expect(text).toContain("The budget is spent");
});
