import { agents, boards, organizations, skill_packs, users } from "@board/core/schema/all-tables";
import { and, eq, isNull, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { untilServiceIsVictim, waitForBlockedStatement } from "../support/blocked-statement.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { setup } from "../support/fixtures.ts";

/** How many requests run at once: more than the limits they race for, fewer than the connections. */
const RACERS = 8;

const { world } = await setup(openServerWorld());
const home = await world.tenant("home");

/** Sends RACERS equal requests at once and returns their statuses, sorted. */
async function race(request: (number: number) => Promise<{ status: number }>): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: RACERS }, (_, number) => request(number)));
  return answers.map((answer) => answer.status).toSorted((a, b) => a - b);
}
const succeed = (good: number) => [...Array(good).fill(200), ...Array(RACERS - good).fill(409)];
const post = (path: string, body: object) => world.call("POST", path, { token: home.owner.token, body });
const addBoard = async (max_agents: number): Promise<string> =>
  (await post("/api/v1/boards", { name: "Board", description: "A board", gateway_id: home.gateway_id, max_agents })).body.id;
const agentsOf = (board_id: string) => world.db.select().from(agents).where(eq(agents.board_id, board_id));

test("agents created concurrently never exceed their board's limit", async () => {
  const board_id = await addBoard(3);
  expect(await race((number) => post("/api/v1/agents", { name: `Agent ${number}`, board_id }))).toEqual(succeed(3));
  expect(await agentsOf(board_id)).toHaveLength(3);
});

test("of several leads created concurrently on one board, exactly one succeeds", async () => {
  const board_id = await addBoard(0);
  const lead = (number: number) => post("/api/v1/agents", { name: `Lead ${number}`, board_id, is_board_lead: true });
  expect(await race(lead)).toEqual(succeed(1));
  expect(await agentsOf(board_id)).toMatchObject([{ is_board_lead: true }]);
});

test("of several agents created concurrently with the same name, exactly one succeeds", async () => {
  const board_id = await addBoard(RACERS);
  const twin = (number: number) => post("/api/v1/agents", { name: number % 2 ? "Twin" : "TWIN", board_id });
  expect(await race(twin)).toEqual(succeed(1));
});

test("boards created concurrently with the same name get different slugs", async () => {
  const body = { name: "Rush", description: "A board", gateway_id: home.gateway_id };
  expect(await race(() => post("/api/v1/boards", body))).toEqual(succeed(RACERS));
  const created = await world.db.select({ slug: boards.slug }).from(boards).where(eq(boards.name, "Rush"));
  const numbers = Array.from({ length: RACERS }, (_, number) => (number === 0 ? "rush" : `rush-${number + 1}`));
  expect(created.map((board) => board.slug).toSorted()).toEqual(numbers);
});

test("of several boards or tags created concurrently with the same slug, exactly one succeeds", async () => {
  const board = { name: "Given", slug: "given", description: "A board", gateway_id: home.gateway_id };
  expect(await race(() => post("/api/v1/boards", board))).toEqual(succeed(1));
  expect(await race(() => post("/api/tags", { name: "Given" }))).toEqual(succeed(1));
});

test("concurrent first requests of a person create one user and one organization", async () => {
  const { token } = await world.person("newcomer");
  const paths = ["/organizations/me", "/api/v1/organizations/me/list", "/api/v1/auth/bootstrap", "/api/v1/users/me"];
  const before = (await world.db.select().from(organizations)).length;
  expect(await race((number) => world.call("GET", paths[number % paths.length]!, { token }))).toEqual(succeed(RACERS));
  const [user, ...others] = await world.db.select().from(users).where(eq(users.auth_subject, "newcomer"));
  expect(others).toEqual([]);
  expect((await world.db.select().from(organizations)).length - before).toBe(1);
  const packs = await world.db.select().from(skill_packs).where(eq(skill_packs.organization_id, user!.active_organization_id!));
  expect(packs).toHaveLength(2);
});

test("concurrent changes of a gateway create its missing main agent once", async () => {
  const mains = and(eq(agents.gateway_id, home.gateway_id), isNull(agents.board_id));
  await world.db.delete(agents).where(mains);
  const path = `/api/v1/gateways/${home.gateway_id}`;
  const rename = (number: number) => world.call("PATCH", path, { token: home.owner.token, body: { name: `Host ${number}` } });
  expect(await race(rename)).toEqual(succeed(RACERS));
  expect(await world.db.select().from(agents).where(mains)).toHaveLength(1);
});

/** Runs another request while a new gateway is deleted, in several rounds, and returns the pairs of statuses. */
async function raceWithDeletion(
  other: (gateway_id: string) => Promise<{ status: number }>,
  prepare: (gateway_id: string) => Promise<unknown> = async () => {},
): Promise<string[]> {
  const body = { name: "Host", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
  const outcomes = new Set<string>();
  for (let round = 0; round < RACERS; round++) {
    const { id } = (await post("/api/v1/gateways", body)).body;
    await prepare(id);
    const removal = world.call("DELETE", `/api/v1/gateways/${id}`, { token: home.owner.token });
    const answers = await Promise.all([removal, other(id)]);
    outcomes.add(answers.map((answer) => answer.status).join(" "));
  }
  return [...outcomes];
}

test("deleting a gateway while a board is created on it lets only one of the two succeed", async () => {
  const board = (gateway_id: string) => post("/api/v1/boards", { name: "Late", description: "A board", gateway_id });
  expect(["200 422", "409 200"]).toEqual(expect.arrayContaining(await raceWithDeletion(board)));
});

test("changing a gateway while it is deleted either happens before the deletion or is 404", async () => {
  const forgetMain = (id: string) => world.db.delete(agents).where(eq(agents.gateway_id, id));
  const change = (id: string) => world.call("PATCH", `/api/v1/gateways/${id}`, { token: home.owner.token, body: {} });
  expect(["200 200", "200 404"]).toEqual(expect.arrayContaining(await raceWithDeletion(change, forgetMain)));
});

test("concurrent first heartbeats of an agent are recorded once", async () => {
  const answers = await race(() => world.call("POST", "/api/v1/agent/heartbeat", { agent: home.worker.token }));
  expect(answers).toEqual(succeed(RACERS));
  const events = await listEvents(world, { agent_id: home.worker.id });
  expect(events.map((event) => event.event_type).toSorted()).toEqual(["agent.connected", "agent.heartbeat"]);
});

test("a change that PostgreSQL ends because of a deadlock is repeated, and made once", async () => {
  const board_id = await addBoard(1);
  const path = `/api/v1/boards/${board_id}`;
  const rename = (round: number) => world.call("PATCH", path, { token: home.owner.token, body: { name: `Round ${round}` } });
  // A change of a board locks the board, then the audit log of its organization. The test locks them in the opposite order.
  const answer = await untilServiceIsVictim((round) => {
    let answered: ReturnType<typeof rename>;
    return world.db
      .transaction(async (db) => {
        await db.execute(sql`select 1 from audit_chains where organization_id = ${home.organization_id} for update`);
        answered = rename(round);
        await waitForBlockedStatement(world.db);
        await db.execute(sql`select 1 from boards where id = ${board_id} for update`);
      })
      .then(() => answered);
  });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"name":"Round ')]);
  const audit = await world.call("GET", `/api/v1/audit?action=board.updated&target_id=${board_id}`, { token: home.owner.token });
  expect(audit.body.items.filter(({ trace_id }: { trace_id: string }) => trace_id === audit.body.items[0].trace_id)).toHaveLength(
    1,
  );
});
