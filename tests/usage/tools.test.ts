import { expect, test } from "vitest";
import { connectMcp } from "../mcp/support.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { setupWorld } from "../support/fixtures.ts";

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
