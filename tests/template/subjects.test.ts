import { mainSessionKey } from "@board/core/context/actor";
import { agents, gateways, organization_members, users } from "@board/core/schema/all-tables";
import { readSubjects } from "@board/openclaw/template/template-data";
import { and, eq, isNull } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import type { Person, Tenant } from "../support/world.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const away = await world.tenant("away");
const admin = await world.member("admin", home, "admin");

const gatewayOf = async (tenant: Tenant) => {
  const [row] = await world.db.select().from(gateways).where(eq(gateways.id, tenant.gateway_id));
  return row!;
};
const userOf = async (person: Person) => {
  const [row] = await world.db.select().from(users).where(eq(users.auth_subject, person.subject));
  return row!;
};
const mainOf = async (tenant: Tenant) => {
  const [row] = await world.db
    .select()
    .from(agents)
    .where(and(eq(agents.gateway_id, tenant.gateway_id), isNull(agents.board_id)));
  return row!;
};
const read = async (agent_ids: string[], user_id: string | null = null, tenant = home) =>
  readSubjects(world.context(), await gatewayOf(tenant), agent_ids, user_id);

test("a subject is the agent with its board, its gateway, its user and all agents of its board", async () => {
  const [subject] = await read([home.worker.id]);
  expect(subject).toMatchObject({
    agent: { id: home.worker.id, name: "Worker" },
    board: { id: home.board_id, name: "home board" },
    gateway: { id: home.gateway_id, workspace_root: "/srv/agents" },
    user: { auth_subject: "home" },
  });
  expect(subject!.colleagues).toMatchObject([
    { id: home.lead.id, name: "Lead", is_board_lead: true, role: "Generalist" },
    { id: home.worker.id, name: "Worker", is_board_lead: false, role: "Generalist" },
  ]);
});

test("the subject of a main agent has no board and no other agents", async () => {
  const main = await mainOf(home);
  const [subject] = await read([main.id]);
  expect(subject).toMatchObject({ agent: { openclaw_session_id: mainSessionKey(home.gateway_id) }, board: null, colleagues: [] });
});

test("subjects of many agents on many boards take three statements, and come in the requested order", async () => {
  const boards = await Promise.all(["One", "Two", "Three"].map((name) => addBoard(world, home, name)));
  const main = await mainOf(home);
  const ids = [boards[2]!.agent.id, home.worker.id, main.id, boards[0]!.agent.id, home.lead.id, boards[1]!.agent.id];
  const gateway = await gatewayOf(home);
  world.statements.length = 0;
  const subjects = await readSubjects(world.context(), gateway, ids, null);
  expect(world.statements).toHaveLength(3);
  expect(subjects.map(({ agent }) => agent.id)).toEqual(ids);
  expect(subjects.map(({ colleagues }) => colleagues.length)).toEqual([1, 2, 0, 1, 2, 1]);
  expect(subjects.map(({ board }) => board?.id)).toEqual([
    boards[2]!.board_id,
    home.board_id,
    undefined,
    boards[0]!.board_id,
    home.board_id,
    boards[1]!.board_id,
  ]);
});

test("deleted agents and agents of another gateway have no subject", async () => {
  const gone = await addBoard(world, home, "Gone");
  await world.db.delete(agents).where(eq(agents.id, gone.agent.id));
  expect(await read([gone.agent.id, away.worker.id, home.lead.id])).toMatchObject([{ agent: { id: home.lead.id } }]);
  expect(await read([gone.agent.id, away.worker.id])).toEqual([]);
  expect(await read([])).toEqual([]);
});

test("the user of a subject is the acting user while still a member, and otherwise the oldest owner", async () => {
  const acting = await userOf(admin);
  await world.member("second owner", home, "owner");
  const userFor = async (user_id: string | null) => (await read([home.worker.id], user_id))[0]!.user?.auth_subject;

  expect(await userFor(acting.id)).toBe("admin");
  expect(await userFor(null)).toBe("home");
  expect(await userFor((await userOf(away.owner)).id)).toBe("home");
  expect(await userFor(crypto.randomUUID())).toBe("home");

  const isFirst = and(
    eq(organization_members.user_id, (await userOf(home.owner)).id),
    eq(organization_members.organization_id, home.organization_id),
  );
  await world.db.update(organization_members).set({ role: "admin" }).where(isFirst);
  expect(await userFor(null)).toBe("second owner");
});
