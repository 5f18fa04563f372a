import { setTimeout as pause } from "node:timers/promises";
import { rowsOf } from "@board/core/db/database";
import { jobs, organization_members, organizations } from "@board/core/schema/all-tables";
import { and, eq, sql } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { setup } from "../support/fixtures.ts";
import type { Answer } from "../support/http.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import type { Person } from "../support/world.ts";

let count = 0;

const ROUNDS = [1, 2, 3, 4, 5];

/** Uses a real server, because the embedded database has one connection, which never waits for a lock. */
const { world } = await setup(openServerWorld());

interface Owner extends Person {
  member_id: string;
}
/** Creates an organization with two owners for whom it is the active one. */
async function createSharedOrganization(): Promise<{ id: string; owners: [Owner, Owner] }> {
  const first = await world.person(`first-${++count}`);
  const second = await world.person(`second-${count}`);
  const { id } = (await world.call("POST", "/organizations", { token: first.token, body: { name: "Shared" } })).body;
  const member_id = (await world.call("GET", "/organizations/me/member", { token: first.token })).body.id;
  const second_id = await world.join(second, id, "owner", { read: true, write: true });
  return {
    id,
    owners: [
      { ...first, member_id },
      { ...second, member_id: second_id },
    ],
  };
}

const ownersOf = async (organization_id: string) =>
  (
    await world.db
      .select()
      .from(organization_members)
      .where(and(eq(organization_members.organization_id, organization_id), eq(organization_members.role, "owner")))
  ).length;
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

const remove = (by: Owner, target: Owner) =>
  world.call("DELETE", `/organizations/me/members/${target.member_id}`, { token: by.token });
const demote = (by: Owner, target: Owner) =>
  world.call("PATCH", `/organizations/me/members/${target.member_id}`, { token: by.token, body: { role: "member" } });
const deleteAccount = (user: Owner) => world.call("DELETE", "/api/v1/users/me", { token: user.token });

/** The later request is refused under the lock, or because its person has lost the role or the membership by then. */
const LOSER_STATUSES = [403, 404, 422];

test.each(ROUNDS)("one of two owners who remove each other remains (round %i)", async () => {
  const { id, owners } = await createSharedOrganization();
  const [first, second] = owners;
  const answers = statuses(await Promise.all([remove(first, second), remove(second, first)]));
  expect(answers[0]).toBe(200);
  expect(LOSER_STATUSES).toContain(answers[1]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("one of two owners who demote each other remains an owner (round %i)", async () => {
  const { id, owners } = await createSharedOrganization();
  const [first, second] = owners;
  const answers = statuses(await Promise.all([demote(first, second), demote(second, first)]));
  expect(answers[0]).toBe(200);
  expect(LOSER_STATUSES).toContain(answers[1]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("one of two owners who demote themselves at the same time remains an owner (round %i)", async () => {
  const { id, owners } = await createSharedOrganization();
  const [first, second] = owners;
  expect(statuses(await Promise.all([demote(first, first), demote(second, second)]))).toEqual([200, 422]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)(
  "one of two owners who delete their accounts at the same time remains while the organization has members (round %i)",
  async () => {
    const { id, owners } = await createSharedOrganization();
    await world.join(await world.person(`third-${count}`), id, "member");
    expect(statuses(await Promise.all(owners.map(deleteAccount)))).toEqual([200, 422]);
    expect(await ownersOf(id)).toBe(1);
  },
);

test.each(ROUNDS)(
  "an organization keeps one of two owners when one deletes the account while the other is demoted (round %i)",
  async () => {
    const { id, owners } = await createSharedOrganization();
    const [leaver, demoted] = owners;
    const answers = statuses(await Promise.all([deleteAccount(leaver), demote(demoted, demoted)]));
    expect(answers).toEqual([200, 422]);
    expect(await ownersOf(id)).toBe(1);
  },
);

test.each(ROUNDS)("an owner who deletes the account while being removed is gone, without a deadlock (round %i)", async () => {
  const { id, owners } = await createSharedOrganization();
  const [leaver, other] = owners;
  const [left, removed] = await Promise.all([deleteAccount(leaver), remove(other, leaver)]);
  expect([left.status, [200, 404].includes(removed.status)]).toEqual([200, true]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("one of several concurrent acceptances of an invite wins (round %i)", async () => {
  const { id, owners } = await createSharedOrganization();
  const guest = await world.person(`guest-${count}`);
  await world.call("GET", "/api/v1/users/me", { token: guest.token });
  const body = { invited_email: `${guest.subject}@example.com` };
  const { token } = (await world.call("POST", "/organizations/me/invites", { token: owners[0].token, body })).body;
  const accept = () => world.call("POST", "/organizations/invites/accept", { token: guest.token, body: { token } });
  expect(statuses(await Promise.all([accept(), accept(), accept()]))).toEqual([200, 404, 404]);
  const members = await world.db.select().from(organization_members).where(eq(organization_members.organization_id, id));
  expect(members).toHaveLength(3);
});

test.each(ROUNDS)("an invite is either accepted or revoked when both are requested at the same time (round %i)", async () => {
  const { owners } = await createSharedOrganization();
  const guest = await world.person(`guest-${count}`);
  await world.call("GET", "/api/v1/users/me", { token: guest.token });
  const body = { invited_email: `${guest.subject}@example.com` };
  const { id, token } = (await world.call("POST", "/organizations/me/invites", { token: owners[0].token, body })).body;
  const [accepted, removed] = await Promise.all([
    world.call("POST", "/organizations/invites/accept", { token: guest.token, body: { token } }),
    world.call("DELETE", `/organizations/me/invites/${id}`, { token: owners[0].token }),
  ]);
  expect([removed.status, removed.body.accepted_at !== null]).toEqual([200, accepted.status === 200]);
});

test.each([
  ["removed", () => sql`delete from organization_members where id = `],
  ["demoted", () => sql`update organization_members set role = 'member' where id = `],
])("an invite is refused when the person who sent it is %s while the acceptance waits", async (_what, lose) => {
  const { id, owners } = await createSharedOrganization();
  const guest = await world.person(`guest-${count}`);
  await world.call("GET", "/api/v1/users/me", { token: guest.token });
  const body = { invited_email: `${guest.subject}@example.com`, role: "owner" };
  const { token } = (await world.call("POST", "/organizations/me/invites", { token: owners[0].token, body })).body;
  let accepting: Promise<Answer> | undefined;
  await world.db.transaction(async (db) => {
    await db.execute(sql`select 1 from organizations where id = ${id} for no key update`);
    await db.execute(sql`${lose()}${owners[0].member_id}`);
    accepting = world.call("POST", "/organizations/invites/accept", { token: guest.token, body: { token } });
    await vi.waitUntil(async () => rowsOf(await db.execute(sql`select 1 from pg_locks where not granted`)).length > 0, {
      timeout: 30_000,
    });
  });
  expect((await accepting)?.status).toBe(403);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)(
  "when two requests replace access at the same time, the access of one request is stored as a whole (round %i)",
  async () => {
    const home = await world.tenant(`home-${++count}`);
    const member_id = await world.join(await world.person(`member-${count}`), home.organization_id, "member");
    const put = (body: object) =>
      world.call("PUT", `/organizations/me/members/${member_id}/access`, { token: home.owner.token, body });
    const bodies = [
      { all_boards_read: true, board_access: [{ board_id: home.board_id, can_write: true }] },
      { all_boards_read: false, board_access: [{ board_id: home.board_id, can_write: false }] },
    ];
    expect(statuses(await Promise.all(bodies.map(put)))).toEqual([200, 200]);
    const stored = (await world.call("GET", `/organizations/me/members/${member_id}`, { token: home.owner.token })).body;
    expect(stored.board_access).toHaveLength(1);
    expect(stored.board_access[0].can_write).toBe(stored.all_boards_read);
  },
);

test.each(ROUNDS)("deleting a busy organization removes it and causes no server error (round %i)", async (round) => {
  const home = await world.tenant(`busy-${++count}`);
  const { token } = home.owner;
  const work = [
    () => world.call("POST", "/api/v1/agent/heartbeat", { agent: home.worker.token }),
    () => world.call("GET", "/api/v1/agent/boards", { agent: home.lead.token }),
    () => world.call("PATCH", `/api/v1/boards/${home.board_id}`, { token, body: { objective: String(Math.random()) } }),
    () =>
      world.call("POST", `/api/v1/agent/boards/${home.board_id}/memory`, { agent: home.lead.token, body: { content: "Note" } }),
    () => world.call("POST", "/api/v1/agents", { token, body: { name: `Agent ${Math.random()}`, board_id: home.board_id } }),
    () => world.call("POST", "/api/v1/tags", { token, body: { name: `Tag ${Math.random()}` } }),
  ];
  world.elapse(60_000);
  let running = true;
  const failures: string[] = [];
  const workers = work.map(async (call) => {
    while (running) {
      const { status, text } = await call();
      if (status >= 500) failures.push(`${status} ${text}`);
    }
  });
  await pause(round * 40);
  const removed = await world.call("DELETE", "/organizations/me", { token });
  await pause(100);
  running = false;
  await Promise.all(workers);
  expect([removed.status, failures, world.log.filter(({ event }) => event === "unhandled")]).toEqual([200, [], []]);
  expect(await world.db.select().from(organizations).where(eq(organizations.id, home.organization_id))).toEqual([]);
  const cleanups = await world.db.select().from(jobs).where(eq(jobs.kind, "agent.cleanup"));
  const cleaned = cleanups.filter(({ payload }) => (payload as { gateway_id: string }).gateway_id === home.gateway_id);
  expect(cleaned.length).toBeGreaterThanOrEqual(3);
  expect(cleaned.every(({ secret_sealed }) => secret_sealed !== null)).toBe(true);
});
