import { setTimeout as pause } from "node:timers/promises";
import { replacePrimaryTask } from "@board/core/approval/primary-task";
import { transaction } from "@board/core/context/context";
import { approvals, boards, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addTasks, approvalsPath, requestApproval, decideApproval } from "../support/approval.ts";
import { addBoard } from "../support/board.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import { listen, type Listener, type ListenOptions } from "../support/sse.ts";

const POLL_MS = 20;

const { world, home } = await setupTenants({ streams: { poll_ms: POLL_MS } });

const follow = (query = "", options: ListenOptions = { token: home.owner.token }) =>
  listen((target, init) => world.app.request(target, init), approvalsPath(home.board_id, `/stream${query}`), options);
const seen = (listener: Listener) => listener.events().map(({ data }) => [data.approval.id, data.approval.status]);
/** Waits long enough for several polls, which would send unexpected events. */
const fewPolls = () => pause(POLL_MS * 6);
const listed = async () =>
  (await world.call("GET", approvalsPath(home.board_id), { token: home.owner.token })).body.items as { id: string }[];

test("a stream event contains the approval as it is listed, with the counts at that moment", async () => {
  const [a, b] = await addTasks(world, home.board_id, ["A", "B"]);
  const listener = await follow();
  const alone = await requestApproval(world, home);
  await listener.waitForEvents(1);
  const one = await requestApproval(world, home, { task_id: a });
  await listener.waitForEvents(2);
  const decided = (await decideApproval(world, home, one.id, "approved")).body;
  await listener.waitForEvents(3);
  const two = await requestApproval(world, home, { task_ids: [b, a] });
  const events = await listener.waitForEvents(4);
  expect(events.map(({ event }) => event)).toEqual(Array(4).fill("approval"));
  expect(events.map(({ data }) => data)).toEqual([
    { approval: alone, pending_approvals_count: 1 },
    {
      approval: one,
      pending_approvals_count: 2,
      task_counts: { task_id: a, approvals_count: 1, approvals_pending_count: 1 },
    },
    {
      approval: decided,
      pending_approvals_count: 1,
      task_counts: { task_id: a, approvals_count: 1, approvals_pending_count: 0 },
    },
    {
      approval: two,
      pending_approvals_count: 2,
      task_counts: [
        { task_id: b, approvals_count: 1, approvals_pending_count: 1 },
        { task_id: a, approvals_count: 2, approvals_pending_count: 1 },
      ],
    },
  ]);
  expect(await listed()).toEqual([two, decided, alone]);
  await listener.close();
});

test("the stream sends every change of an approval once, and no unchanged approval", async () => {
  const other = await requestApproval(world, home);
  const listener = await follow("?since=2000-01-01");
  await listener.waitForEvents(1);
  const { id } = await requestApproval(world, home);
  const changes = ["pending", "approved", "rejected", "pending", "rejected"];
  for (const [index, status] of changes.entries()) {
    if (index > 0) await decideApproval(world, home, id, status);
    await listener.waitForEvents(index + 2);
    await decideApproval(world, home, id, status);
    await decideApproval(world, home, id, undefined);
    await fewPolls();
  }
  expect(seen(listener)).toEqual([[other.id, "pending"], ...changes.map((status) => [id, status])]);
  await listener.close();
});

test("an approval stream resumes after the last event and sends each approval that has changed since, in its current state", async () => {
  const first = await follow();
  const [one, two] = [await requestApproval(world, home), await requestApproval(world, home)];
  await first.waitForEvents(2);
  await first.close();
  await decideApproval(world, home, one.id, "approved");
  await decideApproval(world, home, one.id, "rejected");
  const three = await requestApproval(world, home);
  const second = await follow("", { token: home.owner.token, last: first.lastId() });
  await second.waitForEvents(2);
  await decideApproval(world, home, two.id, "approved");
  await second.waitForEvents(3);
  await fewPolls();
  expect(seen(second)).toEqual([
    [one.id, "rejected"],
    [three.id, "pending"],
    [two.id, "approved"],
  ]);
  await second.close();
});

test("the parameter since of the approval stream selects approvals that were last changed strictly after that time", async () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
  const set = (id: string, values: object) => world.db.update(approvals).set(values).where(eq(approvals.id, id));
  const [before, then, after, changed] = [
    await requestApproval(world, home),
    await requestApproval(world, home),
    await requestApproval(world, home),
    await requestApproval(world, home),
  ];
  await set(before.id, { created_at: at(0), updated_at: at(0) });
  await set(then.id, { created_at: at(1), updated_at: at(1) });
  await set(after.id, { created_at: at(2), updated_at: at(2) });
  await set(changed.id, { created_at: at(0), updated_at: at(3) });
  const listener = await follow("?since=2026-01-01T12:00:01Z");
  await listener.waitForEvents(2);
  await fewPolls();
  expect(seen(listener).map(([id]) => id)).toEqual([after.id, changed.id]);
  await listener.close();
  const all = await follow("?since=2026-01-01T11:59:59.999Z");
  expect((await all.waitForEvents(4)).length).toBe(4);
  await all.close();
});

test("an approval stream starts at the present and leaves out approvals of other boards", async () => {
  await requestApproval(world, home);
  const other = await addBoard(world, home, "Other");
  for (const query of ["", "?since=null", "?since="]) {
    const listener = await follow(query);
    await world.call("POST", approvalsPath(other.board_id), {
      token: home.owner.token,
      body: { action_type: "Elsewhere", description: "Why" },
    });
    await fewPolls();
    expect(listener.events()).toEqual([]);
    const { id } = await requestApproval(world, home);
    const [event] = await listener.waitForEvents(1);
    expect([event!.data.approval.id, event!.data.approval.board_id]).toEqual([id, home.board_id]);
    await listener.close();
  }
});

test("the count of pending approvals in an event does not include approvals of other boards", async () => {
  const other = await addBoard(world, home, "Other");
  await world.db.insert(approvals).values({ board_id: other.board_id, action_type: "Elsewhere" });
  const listener = await follow();
  await requestApproval(world, home);
  const [event] = await listener.waitForEvents(1);
  expect(event!.data.pending_approvals_count).toBe(1);
  await listener.close();
});

test("removing a task sends no event, and the next change shows the remaining tasks", async () => {
  const [a, b] = (await addTasks(world, home.board_id, ["A", "B"])) as [string, string];
  const listener = await follow();
  const { id } = await requestApproval(world, home, { task_ids: [a, b] });
  await listener.waitForEvents(1);
  await transaction(world.context(), async (ctx) => {
    await replacePrimaryTask(ctx, a);
    await ctx.db.delete(tasks).where(eq(tasks.id, a));
  });
  await fewPolls();
  expect(listener.events()).toHaveLength(1);
  await decideApproval(world, home, id, "approved");
  const [, event] = await listener.waitForEvents(2);
  expect(event!.data).toMatchObject({
    approval: { task_id: b, task_ids: [b] },
    task_counts: { task_id: b, approvals_count: 1, approvals_pending_count: 0 },
  });
  await listener.close();
});

test("agents of the board can follow the approval stream, and other agents cannot", async () => {
  const other = await addBoard(world, home, "Other");
  const path = approvalsPath(home.board_id, "/stream");
  const listener = await follow("", { agent: home.worker.token });
  expect((await world.call("GET", path, { agent: other.agent.token })).status).toBe(403);
  expect((await world.call("GET", `${path}?since=soon`, { agent: home.worker.token })).status).toBe(422);
  const { id } = await requestApproval(world, home);
  await listener.waitForEvents(1);
  expect(seen(listener)).toEqual([[id, "pending"]]);
  await world.db.delete(boards).where(eq(boards.id, home.board_id));
  await listener.waitForEnd();
});

test("a poll that finds an approval reads it for all streams of the board together", async () => {
  const listeners = await Promise.all([follow(), follow(), follow()]);
  const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
  world.statements.length = 0;
  await requestApproval(world, home, { task_ids });
  await Promise.all(listeners.map((listener) => listener.waitForEvents(1)));
  const reads = world.statements.filter((statement) => statement.includes("change_tx") && statement.includes("xid8"));
  // The approval is the only new row, so a single poll finds it.
  expect(reads.length).toBeLessThanOrEqual(3);
  await Promise.all(listeners.map((listener) => listener.close()));
});
