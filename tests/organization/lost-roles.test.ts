import { organization_members } from "@board/core/schema/all-tables";
import { eq, type SQL, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { waitForBlockedStatement } from "../support/blocked-statement.ts";
import { setup } from "../support/fixtures.ts";
import type { Answer } from "../support/http.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import type { Person } from "../support/world.ts";

/** Uses a real server, because the embedded database has one connection, which never waits for a lock. */
const { world } = await setup(openServerWorld());
let count = 0;

const call = (person: Person, method: string, path: string, body?: object): Promise<Answer> =>
  world.call(method, path, { token: person.token, body });

/** Creates an organization with an owner, an admin and a member, for whom it is the active one. */
async function createOrganization() {
  const owner = await world.person(`owner-${++count}`);
  const { id } = (await call(owner, "POST", "/organizations", { name: `Organization ${count}` })).body;
  const [admin, member] = [await world.person(`admin-${count}`), await world.person(`member-${count}`)];
  const [admin_id, member_id] = [await world.join(admin, id, "admin"), await world.join(member, id, "member")];
  const owner_id: string = (await call(owner, "GET", "/organizations/me/member")).body.id;
  return { id: id as string, owner, owner_id, admin, admin_id, member, member_id };
}
type Organization = Awaited<ReturnType<typeof createOrganization>>;

/** Sends a request that waits for the organization's lock until `change` is committed. */
async function sendBefore(change: SQL, { id }: Organization, send: () => Promise<Answer>): Promise<Answer> {
  let answer: Promise<Answer> | undefined;
  await world.db.transaction(async (db) => {
    await db.execute(sql`select 1 from organizations where id = ${id} for no key update`);
    answer = send();
    await waitForBlockedStatement(world.db);
    await db.execute(change);
  });
  return answer!;
}

const demote = (member_id: string, role: string): SQL =>
  sql`update organization_members set role = ${role} where id = ${member_id}`;
const remove = (member_id: string): SQL => sql`delete from organization_members where id = ${member_id}`;

const MEMBERS = "/organizations/me/members";
const CHANGES: [string, (of: Organization) => Promise<Answer>][] = [
  ["change a role", ({ admin, admin_id }) => call(admin, "PATCH", `${MEMBERS}/${admin_id}`, { role: "owner" })],
  [
    "change board rights",
    ({ admin, admin_id }) => call(admin, "PUT", `${MEMBERS}/${admin_id}/access`, { all_boards_write: true }),
  ],
  ["remove a member", ({ admin, member_id }) => call(admin, "DELETE", `${MEMBERS}/${member_id}`)],
  ["invite", ({ admin }) => call(admin, "POST", "/organizations/me/invites", { invited_email: "x@example.com", role: "owner" })],
  ["rename the organization", ({ admin }) => call(admin, "PATCH", "/organizations/me", { name: "Renamed" })],
  ["create a key", ({ admin }) => call(admin, "POST", "/api/v1/keys", { name: "Key", access: "admin" })],
  [
    "create the first board",
    ({ admin }) => call(admin, "POST", "/api/v1/boards", { name: "B", description: "x", gateway: "pull" }),
  ],
  ["subscribe", ({ admin }) => call(admin, "POST", "/api/v1/subscriptions", { url: "https://8.8.8.8/receiver" })],
];

test.each(CHANGES)("a request to %s is refused if its admin becomes a member while it waits", async (_what, send) => {
  const organization = await createOrganization();
  const answer = await sendBefore(demote(organization.admin_id, "member"), organization, () => send(organization));
  expect(answer).toMatchObject({ status: 403, body: { detail: "Forbidden" } });
});

test.each(CHANGES)("a request to %s is refused if its admin is removed while it waits", async (_what, send) => {
  const organization = await createOrganization();
  const answer = await sendBefore(remove(organization.admin_id), organization, () => send(organization));
  expect(answer.status).toBe(404);
});

test("an admin who was an owner removes no owner", async () => {
  const organization = await createOrganization();
  const { id, owner, owner_id, admin_id } = organization;
  await call(owner, "PATCH", `${MEMBERS}/${admin_id}`, { role: "owner" });
  const send = () => call(owner, "DELETE", `${MEMBERS}/${admin_id}`);
  expect((await sendBefore(demote(owner_id, "admin"), organization, send)).status).toBe(403);
  expect(await world.db.select().from(organization_members).where(eq(organization_members.organization_id, id))).toHaveLength(3);
});

test("an admin who was an owner creates and rotates no key that does not end, and removes no organization", async () => {
  const organization = await createOrganization();
  const { owner, owner_id } = organization;
  const key = { name: "Key", access: "read", expires_at: null };
  const { id } = (await call(owner, "POST", "/api/v1/keys", { ...key, expires_at: undefined })).body;
  for (const send of [
    () => call(owner, "POST", "/api/v1/keys", key),
    () => call(owner, "POST", "/api/v1/users/me/keys", key),
    () => call(owner, "POST", `/api/v1/keys/${id}/rotate`, { expires_at: null }),
    () => call(owner, "DELETE", "/organizations/me"),
  ]) {
    expect((await sendBefore(demote(owner_id, "admin"), organization, send)).status).toBe(403);
    await world.db.execute(demote(owner_id, "owner"));
  }
  expect((await call(owner, "GET", "/organizations/me")).status).toBe(200);
});

test("a member who loses a board while a subscription of the board waits gets no subscription", async () => {
  const organization = await createOrganization();
  const { owner, member, member_id } = organization;
  const board = (await call(owner, "POST", "/api/v1/boards", { name: "Board", description: "x", gateway: "pull" })).body;
  await call(owner, "PUT", `${MEMBERS}/${member_id}/access`, { all_boards_write: true });
  const send = () => call(member, "POST", `/api/v1/boards/${board.id}/subscriptions`, { url: "https://8.8.8.8/receiver" });
  const lose = sql`update organization_members set all_boards_write = false where id = ${member_id}`;
  expect((await sendBefore(lose, organization, send)).status).toBe(404);
});
