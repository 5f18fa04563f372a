import { agents, boards, jobs, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { waitForBlockedStatement } from "../support/blocked-statement.ts";
import { statusAndBody } from "../support/http.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { setup } from "../support/fixtures.ts";

const OK = [200, { ok: true }];

const ROUNDS = [1, 2, 3, 4, 5];

/** Uses a real server, because the embedded database has one connection, which never waits for a lock. */
const { world } = await setup(openServerWorld());

test.each(ROUNDS)(
  "a task that is assigned to an agent during the agent's deletion does not stay in progress without an assignee (round %i)",
  async (round) => {
    const tenant = await world.tenant(`race ${round}`);
    const { board_id, worker } = tenant;
    const titles = Array.from({ length: 6 }, (_, number) => `Task ${number}`);
    const free = await world.db
      .insert(tasks)
      .values(titles.map((title) => ({ board_id, title })))
      .returning();
    const claim = ({ id }: { id: string }) =>
      world.db
        .transaction(async (db) => {
          await db.select({ id: tasks.id }).from(tasks).where(eq(tasks.id, id)).for("no key update");
          await db.update(tasks).set({ status: "in_progress", assigned_agent_id: worker.id }).where(eq(tasks.id, id));
        })
        .then(
          () => true,
          () => false,
        );
    const [removed] = await Promise.all([
      world.call("DELETE", `/api/v1/agents/${worker.id}`, { token: tenant.owner.token }),
      ...free.map(claim),
    ]);
    expect(removed.status).toBe(200);
    const remaining = await world.db.select().from(tasks).where(eq(tasks.board_id, board_id));
    expect(remaining.map(({ status, assigned_agent_id }) => [status, assigned_agent_id])).toEqual(
      remaining.map(() => ["inbox", null]),
    );
  },
);

test("a task that is assigned to an agent while the agent is being deleted is unassigned like the agent's other tasks", async () => {
  const { board_id, worker, owner } = await world.tenant("claimed");
  await world.db.insert(tasks).values({ board_id, title: "T" });
  const claimed = Promise.withResolvers<void>();
  const mayCommit = Promise.withResolvers<void>();
  const claiming = world.db.transaction(async (db) => {
    await db.update(tasks).set({ status: "in_progress", assigned_agent_id: worker.id }).where(eq(tasks.board_id, board_id));
    claimed.resolve();
    await mayCommit.promise;
  });
  await claimed.promise;
  const removing = world.call("DELETE", `/api/v1/agents/${worker.id}`, { token: owner.token });
  await waitForBlockedStatement(world.db);
  mayCommit.resolve();
  await claiming;
  expect(statusAndBody(await removing)).toEqual(OK);
  const remaining = await world.db.select().from(tasks).where(eq(tasks.board_id, board_id));
  expect(remaining).toMatchObject([{ status: "inbox", assigned_agent_id: null }]);
});

test.each(ROUNDS)("concurrent deletions of one agent have the effect of one deletion (round %i)", async (round) => {
  const tenant = await world.tenant(`twice ${round}`);
  const { id } = tenant.worker;
  const answers = await Promise.all([
    world.call("DELETE", `/api/v1/agents/${id}`, { token: tenant.owner.token }),
    world.call("DELETE", `/api/v1/agents/${id}`, { token: tenant.owner.token }),
    world.call("DELETE", `/api/v1/agent/boards/${tenant.board_id}/agents/${id}`, { agent: tenant.lead.token }),
  ]);
  expect(answers.map(statusAndBody)).toEqual([OK, OK, OK]);
  const cleanups = await world.db.select().from(jobs).where(eq(jobs.kind, "agent.cleanup"));
  expect(cleanups.filter(({ gateway_id }) => gateway_id === tenant.gateway_id)).toHaveLength(1);
});

test.each(ROUNDS)("an agent and its board can be deleted at the same time (round %i)", async (round) => {
  const tenant = await world.tenant(`both ${round}`);
  const { token } = tenant.owner;
  const task = { board_id: tenant.board_id, title: "T", status: "in_progress" as const, assigned_agent_id: tenant.worker.id };
  await world.db.insert(tasks).values(task);
  const [agent, board] = await Promise.all([
    world.call("DELETE", `/api/v1/agents/${tenant.worker.id}`, { token }),
    world.call("DELETE", `/api/v1/boards/${tenant.board_id}`, { token }),
  ]);
  expect(statusAndBody(board)).toEqual(OK);
  // The board may have been deleted, and the agent with it, before the agent's request looked it up.
  expect([200, 404]).toContain(agent.status);
  expect(await world.db.select().from(boards).where(eq(boards.id, tenant.board_id))).toEqual([]);
  expect(world.log.filter(({ event }) => event === "unhandled")).toEqual([]);
});

test.each(ROUNDS)("moving and creating agents at the same time does not exceed a board's limit (round %i)", async (round) => {
  const tenant = await world.tenant(`limit ${round}`);
  const { token } = tenant.owner;
  const body = { name: "Small", description: "B", gateway_id: tenant.gateway_id, max_agents: 2 };
  const board_id = (await world.call("POST", "/api/v1/boards", { token, body })).body.id;
  const make = (name: string) => world.call("POST", "/api/v1/agents", { token, body: { name, board_id } });
  const move = (id: string) => world.call("PATCH", `/api/v1/agents/${id}`, { token, body: { board_id } });
  const answers = await Promise.all([make("A"), move(tenant.worker.id), make("B"), move(tenant.lead.id)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 409, 409]);
  expect(await world.db.select().from(agents).where(eq(agents.board_id, board_id))).toHaveLength(2);
});

test("an agent that is created while its board moves to another gateway is on the new gateway", async () => {
  const tenant = await world.tenant("moving board");
  const { token } = tenant.owner;
  const gateway = { name: "New", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
  const gateway_id = (await world.call("POST", "/api/v1/gateways", { token, body: gateway })).body.id;
  const board = { name: "Empty", description: "B", gateway_id: tenant.gateway_id };
  const board_id = (await world.call("POST", "/api/v1/boards", { token, body: board })).body.id;
  const moved = Promise.withResolvers<void>();
  const mayCommit = Promise.withResolvers<void>();
  const moving = world.db.transaction(async (db) => {
    await db.update(boards).set({ gateway_id }).where(eq(boards.id, board_id));
    moved.resolve();
    await mayCommit.promise;
  });
  await moved.promise;
  const creating = world.call("POST", "/api/v1/agents", { token, body: { name: "Ann", board_id } });
  await waitForBlockedStatement(world.db);
  mayCommit.resolve();
  await moving;
  expect(await creating).toMatchObject({ status: 200, body: { board_id, gateway_id } });
});
