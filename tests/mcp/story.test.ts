import { expect, test } from "vitest";
import { openPullBoard } from "../support/pull-board.ts";
import { setupWorld } from "../support/fixtures.ts";
import { connectMcp, REVISIONS } from "./support.ts";

const world = await setupWorld();

test("three clients empty a board of 50 tasks, and no task is handed out twice", async () => {
  const { owner, worker, addAgent, addTask, board_id, call } = await openPullBoard(world, "crowd");
  await call("PATCH", `/api/v1/boards/${board_id}`, owner.token, { require_approval_for_done: false });
  const ids = await Promise.all(Array.from({ length: 50 }, (_, index) => addTask({ title: `Task ${index}` })));
  const agents = [worker, await addAgent("Second"), await addAgent("Third")];
  const taken: string[] = [];
  await Promise.all(
    agents.map(async ({ token }, index) => {
      const { use } = await connectMcp(world, token, REVISIONS[index % 2]);
      for (;;) {
        const { data, refused } = await use("next_task");
        expect(refused).toBe(false);
        if (!data.task) return;
        taken.push(data.task.id);
        const held = { task_id: data.task.id, fence: data.lease.fence };
        expect(await use("comment_on_task", { ...held, content: "Working" })).toMatchObject({ refused: false });
        expect(await use("update_task", { ...held, status: "review", comment: "Done" })).toMatchObject({ refused: false });
      }
    }),
  );
  expect(taken.toSorted()).toEqual(ids.toSorted());
  const { use } = await connectMcp(world, owner.token);
  expect((await use("get_board", { board_id })).data.task_counts).toMatchObject({ inbox: 0, in_progress: 0, review: 50 });
});

test("a lead and two workers without a host take a board from its goal to done, with one task lost on the way", async () => {
  const home = await openPullBoard(world, "shop");
  const { board_id } = home;
  const person = await connectMcp(world, home.owner.token);
  const lead = await connectMcp(world, home.lead.token);
  const milo = await connectMcp(world, home.worker.token);
  const juno = await connectMcp(world, (await home.addAgent("Juno")).token, "2025-11-25");
  const done = async ({ use }: typeof lead, tool: string, input: object = {}) => {
    const { refused, data } = await use(tool, input);
    expect(refused, `${tool}: ${JSON.stringify(data)}`).toBe(false);
    return data;
  };

  // The person states a goal in the chat. The lead reads it, plans two tasks in order and answers.
  await done(person, "remember", { board_id, content: "@lead please count and polish the lamps", tags: ["chat"] });
  const heard = await done(lead, "check_inbox");
  expect(heard.messages.at(-1)).toMatchObject({
    kind: expect.stringMatching(/^board\./),
    text: expect.stringContaining("polish"),
  });
  const count = (await done(lead, "create_task", { title: "Count the lamps" })).task;
  const polish = (await done(lead, "create_task", { title: "Polish the lamps", depends_on_task_ids: [count.id] })).task;
  expect(polish.is_blocked).toBe(true);
  await done(lead, "remember", { content: "Two tasks planned", tags: ["chat"] });
  await done(lead, "check_inbox", { ack_through: heard.messages.at(-1).id });

  // Milo takes the only task that is not blocked and dies. After the lease, Juno gets it, and Milo's late write is refused.
  const lost = await done(milo, "next_task", { lease_seconds: 60 });
  expect(lost.task.id).toBe(count.id);
  expect((await done(juno, "next_task")).task).toBeNull();
  world.elapse(61_000);
  const next = await done(juno, "next_task");
  expect([next.task.id, next.lease.fence > lost.lease.fence]).toEqual([count.id, true]);
  const late = await milo.use("update_task", { task_id: count.id, fence: lost.lease.fence, status: "review", comment: "12" });
  expect(late).toMatchObject({ refused: true, data: { code: "task_lease_lost" } });

  // Juno submits; the lead wants more, Juno adds it, a person approves, and the lead closes the task.
  const held = { task_id: count.id, fence: next.lease.fence };
  await done(juno, "comment_on_task", { ...held, content: "12 so far" });
  await done(juno, "update_task", { ...held, status: "review", comment: "12 lamps" });
  expect((await done(lead, "check_inbox")).tasks).toMatchObject([{ id: count.id, status: "review" }]);
  await done(lead, "update_task", { task_id: count.id, status: "inbox", comment: "Which rooms?" });
  const again = await done(juno, "next_task");
  expect(again.comments.map(({ content }: { content: string }) => content)).toContain("Which rooms?");
  const rework = { task_id: count.id, fence: again.lease.fence };
  await done(juno, "update_task", { ...rework, status: "review", comment: "12 lamps in 3 rooms" });
  expect(await lead.use("update_task", { task_id: count.id, status: "done" })).toMatchObject({
    refused: true,
    data: { status: 409 },
  });
  const asked = await done(lead, "request_approval", { action_type: "done", description: "Counted", task_ids: [count.id] });
  await done(person, "decide_approval", { board_id, approval_id: asked.approval.id, status: "approved" });
  expect((await done(lead, "check_inbox")).messages.map(({ kind }: { kind: string }) => kind)).toContain("approval.resolved");
  await done(lead, "update_task", { task_id: count.id, status: "done" });

  // The second task is free now.
  expect((await done(milo, "next_task")).task.id).toBe(polish.id);
  const found = await done(person, "list_tasks", { board_id, status: "done" });
  expect(found.tasks).toMatchObject([{ id: count.id }]);
});
