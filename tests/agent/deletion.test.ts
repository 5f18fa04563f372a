import { agents, approvals, board_webhooks, jobs, task_transitions, tasks } from "@board/core/schema/all-tables";
import { and, asc, desc, eq, isNull } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { renew, setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { forbidden, type CallOptions, statusAndBody } from "../support/http.ts";
import { actAsMainAgent } from "../support/main-agent.ts";

const OK = [200, { ok: true }];
const MISSED = [404, { detail: "Not Found" }];

let count = 0;

const world = await setupWorld();
const abroad = await world.tenant("abroad");

const home = renew(() => world.tenant(`home ${++count}`));

const remove = (id: string, options: CallOptions = { token: home.owner.token }) =>
  world.call("DELETE", `/api/v1/agents/${id}`, options);
const removeOn = (board_id: string, id: string, agent = home.lead.token) =>
  world.call("DELETE", `/api/v1/agent/boards/${board_id}/agents/${id}`, { agent });
const isThere = async (id: string) => (await world.db.select().from(agents).where(eq(agents.id, id))).length === 1;
const eventsOf = (event_type: string) => listEvents(world, { organization_id: home.organization_id, event_type });
const cleanups = async (gateway_id = home.gateway_id) =>
  world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.kind, "agent.cleanup"), eq(jobs.gateway_id, gateway_id)))
    .orderBy(desc(jobs.seq));

describe("a person who deletes an agent", () => {
  test("a deleted agent is gone at once, and a job removes it from its host", async () => {
    const { id, token, session_key } = home.worker;
    expect(statusAndBody(await remove(id.toUpperCase()))).toEqual(OK);
    expect(statusAndBody(await world.call("GET", "/api/v1/agent/healthz", { agent: token }))).toEqual([
      401,
      { detail: "Not authenticated" },
    ]);
    expect(statusAndBody(await world.call("GET", `/api/v1/agents/${id}`, { token: home.owner.token }))).toEqual(MISSED);
    expect(await eventsOf("agent.delete.direct")).toMatchObject([
      { board_id: home.board_id, agent_id: null, user_id: expect.any(String), message: "Agent deleted: Worker." },
    ]);
    const { gateway_id, board_id, organization_id } = home;
    expect(await cleanups()).toMatchObject([
      {
        status: "queued",
        lane: `${gateway_id}/mc-${id}`,
        secret_sealed: null,
        payload: { gateway_id, session_key, agent_name: "Worker", board_id, organization_id },
      },
    ]);
  });

  test("the records of a deleted agent stay, with its id set to null", async () => {
    const { id: agent_id, token } = home.worker;
    const { board_id } = home;
    await world.call("POST", "/api/v1/agent/heartbeat", { agent: token });
    const [approval] = await world.db.insert(approvals).values({ board_id, agent_id, action_type: "Deploy" }).returning();
    const [webhook] = await world.db.insert(board_webhooks).values({ board_id, agent_id, description: "Hook" }).returning();
    expect(await eventsOf("agent.heartbeat")).toMatchObject([{ agent_id }]);
    await remove(agent_id);
    expect(await eventsOf("agent.heartbeat")).toMatchObject([{ agent_id: null, board_id }]);
    const [kept] = await world.db.select().from(approvals).where(eq(approvals.id, approval!.id));
    const [hook] = await world.db.select().from(board_webhooks).where(eq(board_webhooks.id, webhook!.id));
    expect([kept?.agent_id, hook?.agent_id]).toEqual([null, null]);
  });

  test("deleting an agent again succeeds and changes nothing", async () => {
    expect(statusAndBody(await remove(crypto.randomUUID()))).toEqual(OK);
    expect([statusAndBody(await remove(home.worker.id)), statusAndBody(await remove(home.worker.id))]).toEqual([OK, OK]);
    expect(await eventsOf("agent.delete.direct")).toHaveLength(1);
    expect(await cleanups()).toHaveLength(1);
  });

  test("a lead can be deleted, and then its board can get a new lead", async () => {
    expect(statusAndBody(await remove(home.lead.id))).toEqual(OK);
    const body = { name: "Lead", board_id: home.board_id, is_board_lead: true };
    expect((await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).status).toBe(200);
  });

  test("a gateway's main agent can be deleted, and the next change of the gateway creates a new main agent", async () => {
    const main = await actAsMainAgent(world, home.gateway_id);
    expect(statusAndBody(await remove(main.id))).toEqual(OK);
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: main.token })).status).toBe(401);
    expect(await eventsOf("agent.delete.direct")).toMatchObject([{ board_id: null, agent_id: null }]);
    const session_key = `agent:mc-gateway-${home.gateway_id}:main`;
    expect(await cleanups()).toMatchObject([{ payload: { session_key, board_id: null } }]);
    await world.call("PATCH", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token, body: {} });
    const mains = and(eq(agents.gateway_id, home.gateway_id), isNull(agents.board_id));
    expect(await world.db.select().from(agents).where(mains)).toMatchObject([{ openclaw_session_id: session_key }]);
  });
});

describe("tasks of a deleted agent", () => {
  const states = ["inbox", "in_progress", "review", "done", "blocked"] as const;

  test("tasks of a deleted agent are unassigned: tasks in progress go back to the inbox, and others keep their status", async () => {
    const { board_id } = home;
    const before = new Date(Date.UTC(2026, 0, 1));
    const assigned = { board_id, assigned_agent_id: home.worker.id, in_progress_at: before, updated_at: before };
    const rows = await world.db
      .insert(tasks)
      .values([
        ...states.map((status) => ({ ...assigned, title: status, status })),
        { ...assigned, title: "other", status: "in_progress" as const, assigned_agent_id: home.lead.id },
      ])
      .returning();
    await remove(home.worker.id);
    const after = await world.db.select().from(tasks).where(eq(tasks.board_id, board_id));
    const byTitle = Object.fromEntries(after.map((task) => [task.title, task]));
    for (const status of states) {
      const in_progress_at = status === "in_progress" ? null : before;
      const now = status === "in_progress" ? "inbox" : status;
      expect(byTitle[status]).toMatchObject({ status: now, assigned_agent_id: null, in_progress_at });
      expect(byTitle[status]!.updated_at).not.toEqual(before);
    }
    expect(byTitle["other"]).toEqual(rows.at(-1));
  });

  test("each task of a deleted agent gets one event, and a status change is recorded as a transition", async () => {
    const { board_id } = home;
    const rows = await world.db
      .insert(tasks)
      .values(states.map((status) => ({ board_id, title: status, status, assigned_agent_id: home.worker.id })))
      .returning();
    const moving = rows.find(({ status }) => status === "in_progress");
    const late = new Date(world.now().getTime() + 60_000);
    await world.db.insert(task_transitions).values({ board_id, task_id: moving!.id, to_status: "in_progress", at: late });
    await remove(home.worker.id);
    expect(await eventsOf("task.status_changed")).toMatchObject([
      {
        task_id: moving!.id,
        board_id,
        agent_id: null,
        user_id: expect.any(String),
        message: "Task moved to inbox: in_progress.",
      },
    ]);
    const updated = (await eventsOf("task.updated")).map(({ message }) => message);
    expect(updated).toHaveLength(4);
    expect(new Set(updated)).toEqual(new Set(["blocked", "done", "inbox", "review"].map((title) => `Task updated: ${title}.`)));
    const moves = await world.db
      .select()
      .from(task_transitions)
      .where(eq(task_transitions.board_id, board_id))
      .orderBy(asc(task_transitions.at));
    expect(moves.at(-1)).toMatchObject({
      task_id: moving!.id,
      from_status: "in_progress",
      to_status: "inbox",
      in_progress_at: null,
    });
    expect(moves).toHaveLength(2);
  });

  test("tasks of a deleted main agent are unassigned on all boards of its gateway", async () => {
    const main = await actAsMainAgent(world, home.gateway_id);
    const second = await addBoard(world, home);
    const assigned = { assigned_agent_id: main.id, status: "in_progress" as const };
    await world.db
      .insert(tasks)
      .values([home.board_id, second.board_id].map((board_id) => ({ ...assigned, board_id, title: "T" })));
    await remove(main.id);
    const moved = await eventsOf("task.status_changed");
    expect(moved).toHaveLength(2);
    expect(new Set(moved.map(({ board_id }) => board_id))).toEqual(new Set([home.board_id, second.board_id]));
  });

  test("deleting an agent takes the same number of statements for any number of tasks", async () => {
    const statements = async (number: number) => {
      const body = { name: `Agent of ${number}`, board_id: home.board_id };
      const { id } = (await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).body;
      const task = { board_id: home.board_id, title: "T", status: "in_progress" as const, assigned_agent_id: id };
      await world.db.insert(tasks).values(Array.from({ length: number }, () => task));
      return world.countStatements(() => remove(id));
    };
    expect(await statements(300)).toBe(await statements(1));
  });
});

describe("a lead that deletes an agent", () => {
  test("a lead can delete a worker of its own board", async () => {
    const { id, token } = home.worker;
    expect(statusAndBody(await removeOn(home.board_id, id))).toEqual(OK);
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: token })).status).toBe(401);
    expect(await eventsOf("agent.delete.direct")).toMatchObject([
      { board_id: home.board_id, agent_id: null, user_id: null, message: "Agent deleted by Lead: Worker." },
    ]);
    expect(await cleanups()).toHaveLength(1);
    for (const gone of [id, crypto.randomUUID()]) expect(statusAndBody(await removeOn(home.board_id, gone))).toEqual(OK);
    expect(await cleanups()).toHaveLength(1);
  });

  test("a lead that deletes an agent is named in the events of its tasks", async () => {
    const task = { board_id: home.board_id, title: "T", status: "in_progress" as const, assigned_agent_id: home.worker.id };
    await world.db.insert(tasks).values(task);
    await removeOn(home.board_id, home.worker.id);
    expect(await eventsOf("task.status_changed")).toMatchObject([{ agent_id: home.lead.id, user_id: null }]);
  });

  test("a lead can delete neither a lead nor a main agent nor an agent of another board", async () => {
    const main = await actAsMainAgent(world, home.gateway_id);
    const second = await addBoard(world, home);
    const cannot = (kind: string) => [403, forbidden(`Board leads cannot delete a ${kind}`)];
    expect(statusAndBody(await removeOn(home.board_id, home.lead.id))).toEqual(cannot("board lead"));
    expect(statusAndBody(await removeOn(home.board_id, main.id))).toEqual(cannot("gateway main agent"));
    const strangers = [second.agent.id, abroad.worker.id, abroad.lead.id, (await actAsMainAgent(world, abroad.gateway_id)).id];
    for (const id of strangers) expect(statusAndBody(await removeOn(home.board_id, id)), id).toEqual(MISSED);
    for (const id of [home.lead.id, main.id, ...strangers]) expect(await isThere(id)).toBe(true);
  });
});
