import { releaseTask } from "@board/core/approval/release";
import { transaction } from "@board/core/context";
import { approvals, tasks } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addTasks, approvalEvents, approvalsPath, ask, boardsToApproveOn, decide, linksOf } from "./support/approval.ts";
import { addBoard } from "./support/board.ts";
import type { Person, Tenant, World } from "./support/world.ts";

let world: World;
let home: Tenant;
let reader: Person;
let owner_id: string;

const openBoard = boardsToApproveOn();
beforeEach(async () => {
  ({ world, home, reader, owner_id } = await openBoard());
});

const list = (query = "") => world.call("GET", approvalsPath(home.board_id, query), { token: home.owner.token });
const read = async (id: string) => (await world.db.select().from(approvals).where(eq(approvals.id, id)))[0]!;
const typesOf = async () => (await approvalEvents(world, home.board_id)).map(({ event_type }) => event_type);

describe("deciding", () => {
  test("a decision stores who made it and when, and the tasks wait no longer", async () => {
    const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
    const asked = await ask(world, home, { task_ids });
    const before = await read(asked.id);
    world.elapse(5_000);
    const answer = await decide(world, home, asked.id.toUpperCase(), "approved");
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
    // By the database's clock, as tasks go by it: processes may differ in what time it is.
    expect(Date.parse(answer.body.resolved_at)).toBeLessThan(Date.now() + 4_000);
    expect(await linksOf(world, asked.id)).toEqual(task_ids.map((id) => [id, false]));
    const after = await read(asked.id);
    expect(after.change_seq).toBeGreaterThan(before.change_seq);
    expect((await list("?status=approved")).body.items).toEqual([answer.body]);
  });

  test("it can be turned round, taken back and made again", async () => {
    const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
    const { id } = await ask(world, home, { task_ids });
    const resolved = { resolved_at: expect.any(String), resolved_by_user_id: owner_id };
    expect((await decide(world, home, id, "rejected")).body).toMatchObject({ status: "rejected", ...resolved });
    world.elapse(1_000);
    const first = (await read(id)).resolved_at!;
    expect((await decide(world, home, id, "approved")).body).toMatchObject({ status: "approved", ...resolved });
    expect((await read(id)).resolved_at!.getTime()).toBeGreaterThan(first.getTime());
    const reopened = (await decide(world, home, id, "pending")).body;
    expect(reopened).toMatchObject({ status: "pending", resolved_at: null, resolved_by_user_id: null });
    expect(await linksOf(world, id)).toEqual(task_ids.map((task) => [task, true]));
    expect((await decide(world, home, id, "approved")).body).toMatchObject({ status: "approved", ...resolved });
    const both = ["approval.reviewed", "approval.resolved"];
    expect((await typesOf()).slice(2)).toEqual([...both, ...both, "approval.reviewed", ...both]);
  });

  test("its events name the person, the board and the first task", async () => {
    const [task_id] = await addTasks(world, home.board_id, ["Task"]);
    const { id } = await ask(world, home, { task_id, action_type: "Go" });
    await decide(world, home, id, "approved");
    await decide(world, home, id, "pending");
    const event = { organization_id: home.organization_id, board_id: home.board_id, task_id, agent_id: null, user_id: owner_id };
    expect((await approvalEvents(world, home.board_id)).slice(2)).toMatchObject([
      { event_type: "approval.reviewed", message: "Approval reviewed: Go.", ...event },
      { event_type: "approval.resolved", message: "Approval approved: Go.", ...event },
      { event_type: "approval.reviewed", message: "Approval reopened: Go.", ...event },
    ]);
  });

  test("the same again changes nothing and is told to nobody", async () => {
    const asked = await ask(world, home);
    const rowAndEvents = async () => [await read(asked.id), await typesOf()];
    const before = await rowAndEvents();
    expect((await decide(world, home, asked.id, "pending")).body).toEqual(asked);
    expect((await decide(world, home, asked.id, undefined)).body).toEqual(asked);
    expect(await rowAndEvents()).toEqual(before);
    const decided = (await decide(world, home, asked.id, "rejected")).body;
    const after = await rowAndEvents();
    world.elapse(1_000);
    expect((await decide(world, home, asked.id, "rejected")).body).toEqual(decided);
    expect(await rowAndEvents()).toEqual(after);
  });

  test("a decision is not taken back while one of its tasks waits for another approval", async () => {
    const [a, b] = await addTasks(world, home.board_id, ["A", "B"]);
    const first = await ask(world, home, { task_ids: [a, b] });
    await decide(world, home, first.id, "approved");
    const second = await ask(world, home, { task_id: b });
    const before = [await read(first.id), await linksOf(world, first.id), await typesOf()];
    const answer = await decide(world, home, first.id, "pending");
    expect([answer.status, answer.body.detail]).toEqual([
      409,
      {
        message: "Each task can have only one pending approval.",
        conflicts: [{ task_id: b, approval_id: second.id }],
      },
    ]);
    expect([await read(first.id), await linksOf(world, first.id), await typesOf()]).toEqual(before);
    expect((await decide(world, home, first.id, "rejected")).status).toBe(200);
    await decide(world, home, second.id, "rejected");
    expect((await decide(world, home, first.id, "pending")).status).toBe(200);
  });

  test.each([null, "open", "Approved", "", 1, true, ["approved"]])("%j is no decision", async (status) => {
    const { id } = await ask(world, home);
    const answer = await decide(world, home, id, status);
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "literal_error", loc: ["body", "status"] }]]);
    expect((await read(id)).status).toBe("pending");
  });

  test("people decide who may write on the board, agents never", async () => {
    const { id } = await ask(world, home);
    const path = approvalsPath(home.board_id, `/${id}`);
    const statuses = [];
    for (const credential of [{ agent: home.worker.token }, { token: home.worker.token }, { token: reader.token }])
      for (const body of [{ status: "approved" }, { status: null }, {}])
        statuses.push((await world.call("PATCH", path, { ...credential, body })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 403, 403, 403]);
    expect((await read(id)).status).toBe("pending");
  });

  test("an approval of another board is not there", async () => {
    const { id } = await ask(world, home);
    const other = await addBoard(world, home, "Other");
    for (const body of [{ status: "approved" }, { status: "pending" }, { status: null }, {}]) {
      const answer = await world.call("PATCH", approvalsPath(other.board_id, `/${id}`), { token: home.owner.token, body });
      expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
    }
    expect((await read(id)).status).toBe("pending");
  });

  test("it takes a few statements", async () => {
    const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
    const { id } = await ask(world, home, { task_ids });
    const cost = async (status: unknown) => {
      world.statements.length = 0;
      await decide(world, home, id, status);
      return world.statements.length;
    };
    expect([await cost("approved"), await cost("approved"), await cost("pending"), await cost(undefined)]).toEqual([7, 4, 7, 3]);
  });
});

describe("a task that is removed", () => {
  const remove = (task_id: string) =>
    transaction(world.context(), async (ctx) => {
      await releaseTask(ctx, task_id);
      await ctx.db.delete(tasks).where(eq(tasks.id, task_id));
    });
  const shown = async (id: string) => {
    const items: { id: string; task_id: string | null; task_ids: string[]; updated_at: string }[] = (await list()).body.items;
    const found = items.find((item) => item.id === id)!;
    expect((await read(id)).task_id).toBe(found.task_id);
    return found;
  };

  test("leaves its place to the next of the approval's tasks, and in the end to none", async () => {
    const [a, b, c] = (await addTasks(world, home.board_id, ["A", "B", "C"])) as [string, string, string];
    const { id, updated_at } = await ask(world, home, { task_ids: [b, c, a] });
    const { change_tx, change_seq } = await read(id);
    await remove(c);
    expect(await shown(id)).toMatchObject({ task_id: b, task_ids: [b, a], updated_at });
    await remove(b);
    const moved = await shown(id);
    expect(moved).toMatchObject({ task_id: a, task_ids: [a] });
    expect(moved.updated_at > updated_at).toBe(true);
    await remove(a);
    expect(await shown(id)).toMatchObject({ task_id: null, task_ids: [], status: "pending" });
    // It was neither asked for nor decided: nobody is sent it again.
    expect(await read(id)).toMatchObject({ change_tx, change_seq });
  });

  test("is let go by every approval that it has, and by no other", async () => {
    const [a, b] = (await addTasks(world, home.board_id, ["A", "B"])) as [string, string];
    const first = await ask(world, home, { task_ids: [a, b] });
    await decide(world, home, first.id, "approved");
    const second = await ask(world, home, { task_ids: [a] });
    const third = await ask(world, home, { task_ids: [b] });
    await remove(a);
    expect([await shown(first.id), await shown(second.id)]).toMatchObject([{ task_id: b }, { task_id: null }]);
    expect(await shown(third.id)).toMatchObject({ task_id: b, updated_at: third.updated_at });
  });
});
