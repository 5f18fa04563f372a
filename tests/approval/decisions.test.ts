import { setTimeout } from "node:timers/promises";
import { replacePrimaryTask } from "@board/core/approval/primary-task";
import { transaction } from "@board/core/context/context";
import { approvals, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import {
  addTasks,
  listApprovalEvents,
  approvalsPath,
  requestApproval,
  setupApprovalBoards,
  decideApproval,
  listApprovalLinks,
} from "../support/approval.ts";

const { world, home, owner_id } = await setupApprovalBoards();

const list = (query = "") => world.call("GET", approvalsPath(home.board_id, query), { token: home.owner.token });
const read = async (id: string) => (await world.db.select().from(approvals).where(eq(approvals.id, id)))[0]!;
const typesOf = async () => (await listApprovalEvents(world, home.board_id)).map(({ event_type }) => event_type);

describe("deciding an approval", () => {
  test("a decision records who made it and when, and the approval's links to tasks are no longer pending", async () => {
    const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
    const asked = await requestApproval(world, home, { task_ids });
    const before = await read(asked.id);
    world.elapse(5_000);
    const answer = await decideApproval(world, home, asked.id.toUpperCase(), "approved");
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        ...asked,
        status: "approved",
        updated_at: expect.any(String),
        resolved_at: expect.any(String),
        resolved_by_user_id: owner_id,
      },
    ]);
    expect(answer.body.resolved_at).toBe(answer.body.updated_at);
    // The database's clock sets the time, because the clocks of processes may differ.
    expect(Date.parse(answer.body.resolved_at)).toBeLessThan(Date.now() + 4_000);
    expect(await listApprovalLinks(world, asked.id)).toEqual(task_ids.map((id) => [id, false]));
    const after = await read(asked.id);
    expect(after.change_seq).toBeGreaterThan(before.change_seq);
    expect((await list("?status=approved")).body.items).toEqual([answer.body]);
  });

  test("a decision that waited for a lock has the same time for resolved_at and updated_at", async () => {
    const [task_id] = await addTasks(world, home.board_id, ["A"]);
    const { id } = await requestApproval(world, home, { task_id });
    const isLocked = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const locking = world.db.transaction(async (db) => {
      await db.select().from(tasks).where(eq(tasks.id, task_id!)).for("update");
      isLocked.resolve();
      await mayEnd.promise;
    });
    await isLocked.promise;
    const deciding = decideApproval(world, home, id, "approved");
    await setTimeout(50);
    mayEnd.resolve();
    await locking;
    const { resolved_at, updated_at } = (await deciding).body;
    expect(resolved_at).toBe(updated_at);
  });

  test("a decision can be reversed, reopened and made again", async () => {
    const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
    const { id } = await requestApproval(world, home, { task_ids });
    const resolved = { resolved_at: expect.any(String), resolved_by_user_id: owner_id };
    expect((await decideApproval(world, home, id, "rejected")).body).toMatchObject({ status: "rejected", ...resolved });
    world.elapse(1_000);
    const first = (await read(id)).resolved_at!;
    expect((await decideApproval(world, home, id, "approved")).body).toMatchObject({ status: "approved", ...resolved });
    expect((await read(id)).resolved_at!.getTime()).toBeGreaterThan(first.getTime());
    const reopened = (await decideApproval(world, home, id, "pending")).body;
    expect(reopened).toMatchObject({ status: "pending", resolved_at: null, resolved_by_user_id: null });
    expect(await listApprovalLinks(world, id)).toEqual(task_ids.map((task) => [task, true]));
    expect((await decideApproval(world, home, id, "approved")).body).toMatchObject({ status: "approved", ...resolved });
    const both = ["approval.reviewed", "approval.resolved"];
    expect((await typesOf()).slice(2)).toEqual([...both, ...both, "approval.reviewed", ...both]);
  });

  test("the events of a decision name the person, the board and the first task", async () => {
    const [task_id] = await addTasks(world, home.board_id, ["Task"]);
    const { id } = await requestApproval(world, home, { task_id, action_type: "Go" });
    await decideApproval(world, home, id, "approved");
    await decideApproval(world, home, id, "pending");
    const event = { organization_id: home.organization_id, board_id: home.board_id, task_id, agent_id: null, user_id: owner_id };
    expect((await listApprovalEvents(world, home.board_id)).slice(2)).toMatchObject([
      { event_type: "approval.reviewed", message: "Approval reviewed: Go.", ...event },
      { event_type: "approval.resolved", message: "Approval approved: Go.", ...event },
      { event_type: "approval.reviewed", message: "Approval reopened: Go.", ...event },
    ]);
  });

  test("repeating a decision changes nothing and records no event", async () => {
    const asked = await requestApproval(world, home);
    const rowAndEvents = async () => [await read(asked.id), await typesOf()];
    const before = await rowAndEvents();
    expect((await decideApproval(world, home, asked.id, "pending")).body).toEqual(asked);
    expect((await decideApproval(world, home, asked.id, undefined)).body).toEqual(asked);
    expect(await rowAndEvents()).toEqual(before);
    const decided = (await decideApproval(world, home, asked.id, "rejected")).body;
    const after = await rowAndEvents();
    world.elapse(1_000);
    expect((await decideApproval(world, home, asked.id, "rejected")).body).toEqual(decided);
    expect(await rowAndEvents()).toEqual(after);
  });

  test("an approval cannot be reopened while one of its tasks has another pending approval", async () => {
    const [a, b] = await addTasks(world, home.board_id, ["A", "B"]);
    const first = await requestApproval(world, home, { task_ids: [a, b] });
    await decideApproval(world, home, first.id, "approved");
    const second = await requestApproval(world, home, { task_id: b });
    const before = [await read(first.id), await listApprovalLinks(world, first.id), await typesOf()];
    const answer = await decideApproval(world, home, first.id, "pending");
    expect([answer.status, answer.body.detail]).toEqual([
      409,
      {
        message: "Each task can have only one pending approval.",
        conflicts: [{ task_id: b, approval_id: second.id }],
      },
    ]);
    expect([await read(first.id), await listApprovalLinks(world, first.id), await typesOf()]).toEqual(before);
    expect((await decideApproval(world, home, first.id, "rejected")).status).toBe(200);
    await decideApproval(world, home, second.id, "rejected");
    expect((await decideApproval(world, home, first.id, "pending")).status).toBe(200);
  });

  test.each([null, "open", "Approved", "", 1, true, ["approved"]])("the status %j is refused as a decision", async (status) => {
    const { id } = await requestApproval(world, home);
    const answer = await decideApproval(world, home, id, status);
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "literal_error", loc: ["body", "status"] }]]);
    expect((await read(id)).status).toBe("pending");
  });

  test("a decision takes at most eight statements, two of them for its entry of the audit log", async () => {
    const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
    const { id } = await requestApproval(world, home, { task_ids });
    const cost = (status: unknown) => world.countStatements(() => decideApproval(world, home, id, status));
    expect([await cost("approved"), await cost("approved"), await cost("pending"), await cost(undefined)]).toEqual([8, 3, 8, 2]);
  });
});

describe("removing a task that has approvals", () => {
  const remove = (task_id: string) =>
    transaction(world.context(), async (ctx) => {
      await replacePrimaryTask(ctx, task_id);
      await ctx.db.delete(tasks).where(eq(tasks.id, task_id));
    });
  const shown = async (id: string) => {
    const items: { id: string; task_id: string | null; task_ids: string[]; updated_at: string }[] = (await list()).body.items;
    const found = items.find((item) => item.id === id)!;
    expect((await read(id)).task_id).toBe(found.task_id);
    return found;
  };

  test("when the primary task of an approval is removed, the next task becomes primary, and without tasks it is null", async () => {
    const [a, b, c] = (await addTasks(world, home.board_id, ["A", "B", "C"])) as [string, string, string];
    const { id, updated_at } = await requestApproval(world, home, { task_ids: [b, c, a] });
    const { change_tx, change_seq } = await read(id);
    await remove(c);
    expect(await shown(id)).toMatchObject({ task_id: b, task_ids: [b, a], updated_at });
    await remove(b);
    const moved = await shown(id);
    expect(moved).toMatchObject({ task_id: a, task_ids: [a] });
    expect(moved.updated_at > updated_at).toBe(true);
    await remove(a);
    expect(await shown(id)).toMatchObject({ task_id: null, task_ids: [], status: "pending" });
    // Removing a task is neither a request nor a decision, so streams do not send the approval again.
    expect(await read(id)).toMatchObject({ change_tx, change_seq });
  });

  test("removing a task removes it from all of its approvals, and changes no other approval", async () => {
    const [a, b] = (await addTasks(world, home.board_id, ["A", "B"])) as [string, string];
    const first = await requestApproval(world, home, { task_ids: [a, b] });
    await decideApproval(world, home, first.id, "approved");
    const second = await requestApproval(world, home, { task_ids: [a] });
    const third = await requestApproval(world, home, { task_ids: [b] });
    await remove(a);
    expect([await shown(first.id), await shown(second.id)]).toMatchObject([{ task_id: b }, { task_id: null }]);
    expect(await shown(third.id)).toMatchObject({ task_id: b, updated_at: third.updated_at });
  });
});
