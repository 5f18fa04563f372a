import { setTimeout as pause } from "node:timers/promises";
import { jobs, organization_members, organizations } from "@board/core/db/schema";
import { and, eq } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import type { Answer } from "./support/http.ts";
import { openServerWorld } from "./support/server-world.ts";
import type { Person, World } from "./support/world.ts";

/** Several connections to a real server: what is told here of locks is true of them only. */
let world: World;
let count = 0;

const ROUNDS = [1, 2, 3, 4, 5];

beforeAll(async () => {
  const server = await openServerWorld();
  ({ world } = server);
  return server.close;
});

interface Owner extends Person {
  member_id: string;
}
/** An organization with two owners who both work in it. */
async function shared(): Promise<{ id: string; owners: [Owner, Owner] }> {
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

const remove = (by: Owner, whom: Owner) =>
  world.call("DELETE", `/organizations/me/members/${whom.member_id}`, { token: by.token });
const demote = (by: Owner, whom: Owner) =>
  world.call("PATCH", `/organizations/me/members/${whom.member_id}`, { token: by.token, body: { role: "member" } });
const leave = (who: Owner) => world.call("DELETE", "/api/v1/users/me", { token: who.token });

/** Either is refused under the lock, or comes so late that its caller has no longer the role or the membership for it. */
const LOST = [403, 404, 422];

test.each(ROUNDS)("of two owners who remove each other one stays (%i)", async () => {
  const { id, owners } = await shared();
  const [one, other] = owners;
  const answers = statuses(await Promise.all([remove(one, other), remove(other, one)]));
  expect(answers[0]).toBe(200);
  expect(LOST).toContain(answers[1]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("of two owners who demote each other one stays (%i)", async () => {
  const { id, owners } = await shared();
  const [one, other] = owners;
  const answers = statuses(await Promise.all([demote(one, other), demote(other, one)]));
  expect(answers[0]).toBe(200);
  expect(LOST).toContain(answers[1]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("of two owners who step down at once one stays (%i)", async () => {
  const { id, owners } = await shared();
  const [one, other] = owners;
  expect(statuses(await Promise.all([demote(one, one), demote(other, other)]))).toEqual([200, 422]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("of two owners who delete themselves at once one stays while others are in the organization (%i)", async () => {
  const { id, owners } = await shared();
  await world.join(await world.person(`third-${count}`), id, "member");
  expect(statuses(await Promise.all(owners.map(leave)))).toEqual([200, 422]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("an owner who deletes itself while the other is demoted leaves an owner (%i)", async () => {
  const { id, owners } = await shared();
  const [leaver, stepping] = owners;
  const answers = statuses(await Promise.all([leave(leaver), demote(stepping, stepping)]));
  expect(answers).toEqual([200, 422]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("an owner who deletes itself while it is removed is gone, and nobody waits for ever (%i)", async () => {
  const { id, owners } = await shared();
  const [leaver, other] = owners;
  const [left, removed] = await Promise.all([leave(leaver), remove(other, leaver)]);
  expect([left.status, [200, 404].includes(removed.status)]).toEqual([200, true]);
  expect(await ownersOf(id)).toBe(1);
});

test.each(ROUNDS)("of several acceptances of one invite one wins (%i)", async () => {
  const { id, owners } = await shared();
  const guest = await world.person(`guest-${count}`);
  await world.call("GET", "/api/v1/users/me", { token: guest.token });
  const body = { invited_email: `${guest.subject}@example.com` };
  const { token } = (await world.call("POST", "/organizations/me/invites", { token: owners[0].token, body })).body;
  const accept = () => world.call("POST", "/organizations/invites/accept", { token: guest.token, body: { token } });
  expect(statuses(await Promise.all([accept(), accept(), accept()]))).toEqual([200, 404, 404]);
  const members = await world.db.select().from(organization_members).where(eq(organization_members.organization_id, id));
  expect(members).toHaveLength(3);
});

test.each(ROUNDS)("an invite is either accepted or revoked (%i)", async () => {
  const { owners } = await shared();
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

test.each(ROUNDS)("access that is replaced twice at once is that of one of the two (%i)", async () => {
  const home = await world.tenant(`home-${++count}`);
  const member_id = await world.join(await world.person(`member-${count}`), home.organization_id, "member");
  const put = (body: object) =>
    world.call("PUT", `/organizations/me/members/${member_id}/access`, { token: home.owner.token, body });
  const wanted = [
    { all_boards_read: true, board_access: [{ board_id: home.board_id, can_write: true }] },
    { all_boards_read: false, board_access: [{ board_id: home.board_id, can_write: false }] },
  ];
  expect(statuses(await Promise.all(wanted.map(put)))).toEqual([200, 200]);
  const stored = (await world.call("GET", `/organizations/me/members/${member_id}`, { token: home.owner.token })).body;
  expect(stored.board_access).toHaveLength(1);
  expect(stored.board_access[0].can_write).toBe(stored.all_boards_read);
});

test.each(ROUNDS)(
  "an organization that is deleted while it is at work is gone, and no answer is an error of ours (%i)",
  async (round) => {
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
    let going = true;
    const failures: string[] = [];
    const workers = work.map(async (call) => {
      while (going) {
        const { status, text } = await call();
        if (status >= 500) failures.push(`${status} ${text}`);
      }
    });
    await pause(round * 40);
    const removed = await world.call("DELETE", "/organizations/me", { token });
    await pause(100);
    going = false;
    await Promise.all(workers);
    expect([removed.status, failures, world.log.filter(({ event }) => event === "unhandled")]).toEqual([200, [], []]);
    expect(await world.db.select().from(organizations).where(eq(organizations.id, home.organization_id))).toEqual([]);
    const cleanups = await world.db.select().from(jobs).where(eq(jobs.kind, "agent.cleanup"));
    const cleaned = cleanups.filter(({ payload }) => (payload as { gateway_id: string }).gateway_id === home.gateway_id);
    expect(cleaned.length).toBeGreaterThanOrEqual(3);
    expect(cleaned.every(({ secret_sealed }) => secret_sealed !== null)).toBe(true);
  },
);
