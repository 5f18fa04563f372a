import { approvals, boards, tasks } from "@board/core/schema/all-tables";
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
import { addBoard } from "../support/board.ts";
import { actAsMainAgent } from "../support/main-agent.ts";

const { world, home, owner_id } = await setupApprovalBoards();

const agentPath = () => `/api/v1/agent/boards/${home.board_id}/approvals`;
const post = (body: object, path = approvalsPath(home.board_id)) => world.call("POST", path, { token: home.owner.token, body });
const list = (query = "") => world.call("GET", approvalsPath(home.board_id, query), { token: home.owner.token });
const read = async (id: string) => (await world.db.select().from(approvals).where(eq(approvals.id, id)))[0]!;
const typesOf = async () => (await listApprovalEvents(world, home.board_id)).map(({ event_type }) => event_type);

describe("requesting an approval", () => {
  test("an agent requests an approval under its own id, with all fields", async () => {
    const [first, second] = await addTasks(world, home.board_id, ["First", "Second"]);
    const body = {
      action_type: " Send mail ",
      description: " The customer waits ",
      task_ids: [second, first],
      payload: { to: "a@example.com", deep: [{ n: 1.5 }] },
      confidence: 62.5,
      rubric_scores: { clarity: 4, risk: -1 },
    };
    const answer = await world.call("POST", agentPath(), { agent: home.worker.token, body });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        id: expect.any(String),
        board_id: home.board_id,
        agent_id: home.worker.id,
        action_type: "Send mail",
        description: "The customer waits",
        payload: { to: "a@example.com", deep: [{ n: 1.5 }], reason: "The customer waits", title: "Second" },
        confidence: 62.5,
        rubric_scores: { clarity: 4, risk: -1 },
        status: "pending",
        task_id: second,
        task_ids: [second, first],
        task_titles: ["Second", "First"],
        created_at: expect.any(String),
        updated_at: answer.body.created_at,
        resolved_at: null,
        resolved_by_user_id: null,
      },
    ]);
    expect((await list()).body.items).toEqual([answer.body]);
    expect(await listApprovalLinks(world, answer.body.id)).toEqual([
      [second, true],
      [first, true],
    ]);
    expect((await read(answer.body.id)).task_id).toBe(second);
  });

  test("a payload without a title gets the title of the first linked task", async () => {
    const [task_id, other_id] = await addTasks(world, home.board_id, ["Refund", "Letter"]);
    const titleOf = async (body: object) => (await post({ action_type: "Do", description: "Why", ...body })).body.payload.title;
    expect(await titleOf({ task_ids: [task_id], payload: { title: "Pay back" } })).toBe("Pay back");
    expect(await titleOf({ task_ids: [other_id], payload: { title: " " } })).toBe("Letter");
    expect(await titleOf({})).toBeUndefined();
    await world.db.update(tasks).set({ title: "Letter of thanks" }).where(eq(tasks.id, other_id!));
    const listed = (await list()).body.items.map(({ payload }: { payload: { title?: string } }) => payload.title);
    expect(listed).toEqual([undefined, "Letter of thanks", "Pay back"]);
  });

  test("an action and a reason are enough for an approval request", async () => {
    const { body } = await post({ action_type: "Pay", description: "Due" });
    expect(body).toMatchObject({
      agent_id: null,
      payload: { reason: "Due" },
      confidence: 0,
      rubric_scores: null,
      task_id: null,
      task_ids: [],
      task_titles: [],
    });
    expect((await read(body.id)).confidence).toBeNull();
  });

  test("a new approval is pending under the requesting agent's id, whatever the body says", async () => {
    for (const [path, credential] of [
      [agentPath(), { agent: home.worker.token }],
      [approvalsPath(home.board_id), { agent: home.worker.token }],
    ] as const)
      for (const status of ["approved", "rejected", 5]) {
        const body = { action_type: "Deploy", description: "Now", status, agent_id: home.lead.id, resolved_at: "2026-01-01" };
        const answer = await world.call("POST", path, { ...credential, body });
        expect(answer.body).toMatchObject({ status: "pending", agent_id: home.worker.id, resolved_at: null });
      }
  });

  test("a person may request an approval for an agent of the board, and for no other agent", async () => {
    const main = await actAsMainAgent(world, home.gateway_id);
    const abroad = await world.tenant("abroad");
    const created = await post({ action_type: "Deploy", description: "Now", agent_id: home.worker.id.toUpperCase() });
    expect([created.status, created.body.agent_id]).toEqual([200, home.worker.id]);
    for (const agent_id of [main.id, home.lead.id, abroad.worker.id, crypto.randomUUID()]) {
      const refused = await post({ action_type: "Deploy", description: "Now", agent_id });
      expect([refused.status, refused.body]).toEqual([404, { detail: "Not Found" }]);
    }
    expect((await list()).body.total).toBe(1);
  });

  test("the gateway's main agent can request an approval", async () => {
    const main = await actAsMainAgent(world, home.gateway_id);
    const answer = await world.call("POST", agentPath(), {
      agent: main.token,
      body: { action_type: "Move", description: "Why" },
    });
    expect([answer.status, answer.body.agent_id]).toEqual([200, main.id]);
  });

  test("an approval request records two events that name the requester and the first task", async () => {
    const [task_id] = await addTasks(world, home.board_id, ["Task"]);
    await requestApproval(world, home, { task_id, action_type: "Line\nbreak" });
    await post({ action_type: "Own", description: "Why" });
    const shared = { organization_id: home.organization_id, board_id: home.board_id };
    const byAgent = { ...shared, task_id, agent_id: home.worker.id, user_id: null };
    const byUser = { ...shared, task_id: null, agent_id: null, user_id: owner_id };
    expect(await listApprovalEvents(world, home.board_id)).toMatchObject([
      { event_type: "approval.created", message: "Approval created: Line break.", ...byAgent },
      { event_type: "approval.requested", message: "Approval requested: Line break.", ...byAgent },
      { event_type: "approval.created", ...byUser },
      { event_type: "approval.requested", ...byUser },
    ]);
  });

  test("tasks of another board are reported missing, and nothing is stored", async () => {
    const other = await addBoard(world, home, "Elsewhere");
    const [own] = await addTasks(world, home.board_id, ["Own"]);
    const [foreign] = await addTasks(world, other.board_id, ["Foreign"]);
    const gone = crypto.randomUUID();
    const answer = await post({ action_type: "Do", description: "Why", task_ids: [gone, own, foreign] });
    expect([answer.status, answer.body]).toEqual([
      404,
      { detail: { message: "One or more tasks do not exist on this board.", missing_task_ids: [gone, foreign] } },
    ]);
    expect([(await list()).body.total, await typesOf()]).toEqual([0, []]);
  });

  test("a task with a pending approval cannot be part of another request", async () => {
    const ids = (await addTasks(world, home.board_id, ["A", "B", "C", "D"])) as [string, string, string, string];
    const [a, b, c, d] = ids.toSorted() as typeof ids;
    const first = await requestApproval(world, home, { task_ids: [b, a] });
    const second = await requestApproval(world, home, { task_id: c });
    const answer = await post({ action_type: "Do", description: "Why", task_ids: [d, c, b, a] });
    expect([answer.status, answer.body]).toEqual([
      409,
      {
        detail: {
          message: "Each task can have only one pending approval.",
          conflicts: [
            { task_id: a, approval_id: first.id },
            { task_id: b, approval_id: first.id },
            { task_id: c, approval_id: second.id },
          ],
        },
      },
    ]);
    expect((await list()).body.total).toBe(2);
    await decideApproval(world, home, first.id, "rejected");
    expect((await post({ action_type: "Do", description: "Why", task_ids: [a, b, d] })).status).toBe(200);
  });

  test("a missing task is reported before a pending approval", async () => {
    const [task_id] = await addTasks(world, home.board_id, ["Task"]);
    await requestApproval(world, home, { task_id });
    const answer = await post({ action_type: "Do", description: "Why", task_ids: [task_id, crypto.randomUUID()] });
    expect(answer.status).toBe(404);
  });

  test("requesting an approval takes three statements, and five if it names a task", async () => {
    const [task_id] = await addTasks(world, home.board_id, ["Task"]);
    await list();
    const alone = await world.countStatements(() => post({ action_type: "Do", description: "Why" }));
    world.statements.length = 0;
    await post({ action_type: "Do", description: "Why", task_id });
    expect([alone, world.statements.length]).toEqual([3, 5]);
  });
});

describe("the list of approvals", () => {
  test("approvals are listed newest first, by page and by status, at the paths for people and for agents", async () => {
    const ids: string[] = [];
    for (const action_type of ["One", "Two", "Three", "Four"]) ids.push((await requestApproval(world, home, { action_type })).id);
    for (const [index, id] of ids.entries())
      await world.db
        .update(approvals)
        .set({ created_at: new Date(index * 1000) })
        .where(eq(approvals.id, id));
    await decideApproval(world, home, ids[0]!, "approved");
    await decideApproval(world, home, ids[2]!, "rejected");
    const names = async (query: string) => {
      const page = await list(query);
      expect(page.status).toBe(200);
      const agents = await world.call("GET", agentPath() + query, { agent: home.worker.token });
      expect(agents.body).toEqual(page.body);
      return [page.body.items.map(({ action_type }: { action_type: string }) => action_type), page.body.total];
    };
    expect(await names("")).toEqual([["Four", "Three", "Two", "One"], 4]);
    expect(await names("?limit=2&offset=1")).toEqual([["Three", "Two"], 4]);
    expect(await names("?offset=9")).toEqual([[], 4]);
    expect(await names("?status=pending")).toEqual([["Four", "Two"], 2]);
    expect(await names("?status=pending&limit=1")).toEqual([["Four"], 2]);
    expect(await names("?status=approved")).toEqual([["One"], 1]);
    expect(await names("?status=rejected")).toEqual([["Three"], 1]);
  });

  test("a filter by task lists only the approvals of the task, including approvals that name another task first", async () => {
    const [task, first, quiet] = await addTasks(world, home.board_id, ["Asked about", "First", "Other"]);
    const only = await requestApproval(world, home, { action_type: "Only", task_id: task });
    await decideApproval(world, home, only.id, "rejected");
    await requestApproval(world, home, { action_type: "Second", task_ids: [first, task] });
    await requestApproval(world, home, { action_type: "Other", task_id: quiet });
    const names = async (query: string) => {
      const page = await list(query);
      expect((await world.call("GET", agentPath() + query, { agent: home.worker.token })).body).toEqual(page.body);
      return [page.body.items.map(({ action_type }: { action_type: string }) => action_type), page.body.total];
    };
    expect(await names(`?task_id=${task}`)).toEqual([["Second", "Only"], 2]);
    expect(await names(`?task_id=${task}&status=pending`)).toEqual([["Second"], 1]);
    expect(await names(`?task_id=${task}&limit=1&offset=1`)).toEqual([["Only"], 2]);
    expect(await names(`?task_id=${crypto.randomUUID()}`)).toEqual([[], 0]);
    const refused = await list("?task_id=no");
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["query", "task_id"]]);
  });

  test.each(["open", "", "PENDING", "pending,approved"])("the status filter %j is refused", async (status) => {
    for (const path of [approvalsPath(home.board_id), agentPath()]) {
      const answer = await world.call("GET", `${path}?status=${status}`, { agent: home.worker.token });
      expect([answer.status, answer.body.detail]).toEqual([
        422,
        [
          {
            type: "literal_error",
            loc: ["query", "status"],
            msg: "Input should be 'pending', 'approved' or 'rejected'",
            input: status,
          },
        ],
      ]);
    }
  });

  test("the list of approvals takes at most three statements for any number of tasks", async () => {
    const task_ids = await addTasks(world, home.board_id, ["A", "B", "C"]);
    for (const task_id of task_ids) await requestApproval(world, home, { task_id });
    world.statements.length = 0;
    expect((await list()).body.total).toBe(3);
    expect(world.statements.length).toBeLessThanOrEqual(3);
  });
});

describe("access to approvals", () => {
  test("deleting a board deletes its approvals", async () => {
    const [task_id] = await addTasks(world, home.board_id, ["Task"]);
    const { id } = await requestApproval(world, home, { task_id });
    const gone = await world.call("DELETE", `/api/v1/boards/${home.board_id}`, { token: home.owner.token });
    expect(gone.status).toBe(200);
    expect(await world.db.select().from(boards).where(eq(boards.id, home.board_id))).toEqual([]);
    expect([await read(id), await listApprovalLinks(world, id)]).toEqual([undefined, []]);
  });
});
