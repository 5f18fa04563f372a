import { organization_board_access, organization_members, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { addMember, type MemberPerson, createMemberCalls, waitForNextTimestamp } from "./member-calls.ts";
import { setupWorld } from "../support/fixtures.ts";
import type { Person, Tenant } from "../support/world.ts";

const MISSED = { detail: "Not Found" };
const FORBIDDEN = { detail: "Forbidden" };
const OWNER_MISSING = { detail: "Organization must have at least one owner" };

let people = 0;

const world = await setupWorld();

const rowOf = async (person: Person) => (await world.db.select().from(users).where(eq(users.auth_subject, person.subject)))[0]!;

describe.each(["/organizations/me", "/api/v1/organizations/me"])("members under %s", (prefix) => {
  let home: Tenant;
  let abroad: Tenant;
  let owner: MemberPerson;
  let admin: MemberPerson;
  let member: MemberPerson;
  let other: MemberPerson;
  let stranger_id: string;

  const { call, get, setRole, remove } = createMemberCalls(prefix, () => world);

  beforeAll(async () => {
    home = await world.tenant(`home${++people}`);
    abroad = await world.tenant(`abroad${++people}`);
    owner = { ...home.owner, member_id: (await call(home.owner, "GET", "/member")).body.id };
    stranger_id = (await call(abroad.owner, "GET", "/member")).body.id;
    [admin, member, other] = [
      await addMember(world, home, "admin"),
      await addMember(world, home, "member"),
      await addMember(world, home, "member", { read: true }),
    ];
  });

  test("a member is returned with the user and the board rights as stored", async () => {
    const [row] = await world.db
      .insert(organization_board_access)
      .values({ organization_member_id: other.member_id, board_id: home.board_id, can_read: false, can_write: true })
      .returning();
    const user = await rowOf(other);
    const expected = {
      id: other.member_id,
      organization_id: home.organization_id,
      user_id: user.id,
      role: "member",
      all_boards_read: true,
      all_boards_write: false,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      user: { id: user.id, email: user.email, name: user.name, preferred_name: null },
      board_access: [
        {
          id: row!.id,
          board_id: home.board_id,
          can_read: false,
          can_write: true,
          created_at: row!.created_at.toISOString(),
          updated_at: row!.updated_at.toISOString(),
        },
      ],
    };
    expect((await get(owner, other.member_id)).body).toEqual(expected);
    expect((await call(other, "GET", "/member")).body).toEqual(expected);
    expect((await call(admin, "GET", "/members")).body.items).toContainEqual(expected);
    await world.db.delete(organization_board_access).where(eq(organization_board_access.id, row!.id));
  });

  test("members are sorted by email ignoring case, then by name; members without an address come last", async () => {
    const tenant = await world.tenant(`listing${++people}`);
    const listedUsers = [
      { email: null, name: "Zoe" },
      { email: "b@example.com", name: "Other" },
      { email: null, name: "Adam" },
      { email: "C@example.com", name: "Third" },
      { email: "a@example.com", name: "First" },
      { email: "B@example.com", name: "Earlier" },
    ];
    for (const [index, person] of listedUsers.entries()) {
      const [user] = await world.db
        .insert(users)
        .values({ ...person, auth_subject: `${prefix} listed ${index}` })
        .returning();
      await world.db
        .insert(organization_members)
        .values({ organization_id: tenant.organization_id, user_id: user!.id, role: "member" });
    }
    const page = async (query = "") =>
      (await call(tenant.owner, "GET", `/members${query}`)).body as { items: { user: { name: string } }[]; total: number };
    const all = await page();
    expect([all.total, all.items.map(({ user }) => user.name).filter((name) => !name.startsWith("listing"))]).toEqual([
      7,
      ["First", "Earlier", "Other", "Third", "Adam", "Zoe"],
    ]);
    const paged = [await page("?limit=3"), await page("?limit=3&offset=3"), await page("?limit=3&offset=6")];
    expect(paged.flatMap(({ items }) => items)).toEqual(all.items);
    expect(paged.map(({ total }) => total)).toEqual([7, 7, 7]);
    expect(await page("?offset=7")).toEqual({ items: [], total: 7, limit: 50, offset: 7 });
  });

  test("admins read every member, members only themselves, and no one a member of another organization", async () => {
    for (const person of [owner, admin]) expect((await get(person, member.member_id)).status).toBe(200);
    expect((await get(member, member.member_id)).body).toEqual((await call(member, "GET", "/member")).body);
    const refused = await get(member, other.member_id);
    expect([refused.status, refused.body]).toEqual([403, FORBIDDEN]);
    for (const person of [owner, member])
      for (const id of [stranger_id, crypto.randomUUID()]) {
        const missed = await get(person, id);
        expect([missed.status, missed.body]).toEqual([404, MISSED]);
      }
  });

  test("an admin sets any of the three roles, which keeps the flags and changes updated_at", async () => {
    const person = await addMember(world, home, "member", { read: true, write: true });
    const before = (await get(owner, person.member_id)).body;
    let last_updated_at = before.updated_at;
    for (const role of ["owner", "admin", "member"]) {
      await waitForNextTimestamp();
      const changed = await setRole(admin, person.member_id, role);
      expect([changed.status, changed.body]).toEqual([200, { ...before, role, updated_at: expect.any(String) }]);
      expect(changed.body.updated_at > last_updated_at).toBe(true);
      expect((await get(owner, person.member_id)).body).toEqual(changed.body);
      last_updated_at = changed.body.updated_at;
    }
    expect((await setRole(admin, person.member_id, "member")).body.updated_at).toBe(last_updated_at);
  });

  test.each([["superuser"], [""], [null], [5], [undefined], ["Owner"]])("the role %j is refused", async (role) => {
    const refused = await setRole(owner, member.member_id, role);
    expect([refused.status, refused.body.detail]).toMatchObject([
      422,
      [{ type: role === undefined ? "missing" : "literal_error", loc: ["body", "role"] }],
    ]);
  });

  test("the last owner cannot be demoted, not even by themselves; one of two owners can", async () => {
    for (const person of [owner, admin])
      for (const role of ["admin", "member"]) {
        const refused = await setRole(person, owner.member_id, role);
        expect([refused.status, refused.body]).toEqual([422, OWNER_MISSING]);
      }
    expect((await setRole(owner, owner.member_id, "owner")).status).toBe(200);
    const second = await addMember(world, home, "owner");
    expect((await setRole(owner, owner.member_id, "admin")).body.role).toBe("admin");
    expect((await setRole(owner, owner.member_id, "owner")).body.role).toBe("owner");
    await setRole(owner, second.member_id, "member");
  });

  test("no one can remove themselves, only owners can remove owners, and a refusal changes nothing", async () => {
    const listMembers = async () => (await call(owner, "GET", "/members?limit=200")).body;
    const before = await listMembers();
    for (const person of [owner, admin]) {
      const refused = await remove(person, person.member_id);
      expect([refused.status, refused.body]).toEqual([403, { detail: "You cannot remove yourself from the organization" }]);
    }
    const refused = await remove(admin, owner.member_id);
    expect([refused.status, refused.body]).toEqual([403, { detail: "Only owners can remove owners" }]);
    expect(await listMembers()).toEqual(before);
    const second = await addMember(world, home, "owner");
    const removed = await remove(owner, second.member_id);
    expect([removed.status, removed.body]).toEqual([200, { ok: true }]);
  });

  test("a removed member loses the board rights, and the oldest other membership becomes active", async () => {
    const person = await addMember(world, home, "member", { write: true });
    await world.db
      .insert(organization_board_access)
      .values({ organization_member_id: person.member_id, board_id: home.board_id, can_read: true, can_write: true });
    const oldest = (await world.call("POST", "/organizations", { token: person.token, body: { name: "Oldest" } })).body;
    await world.call("POST", "/organizations", { token: person.token, body: { name: "Newest" } });
    await call(person, "PATCH", "/active", { organization_id: home.organization_id });
    // The home membership is the oldest of all: it must not count as the other membership.
    const before = await rowOf(person);
    expect((await remove(admin, person.member_id)).body).toEqual({ ok: true });
    expect(await rowOf(person)).toEqual({ ...before, active_organization_id: oldest.id });
    expect((await get(owner, person.member_id)).status).toBe(404);
    const rows = await world.db
      .select()
      .from(organization_board_access)
      .where(eq(organization_board_access.organization_member_id, person.member_id));
    expect(rows).toEqual([]);
    expect((await world.call("GET", `/api/v1/boards/${home.board_id}`, { token: person.token })).status).toBe(404);
    expect((await remove(admin, person.member_id)).status).toBe(404);
  });

  test("a removed member without another membership has no active organization until the next request", async () => {
    const person = await addMember(world, home, "member");
    await remove(admin, person.member_id);
    expect((await rowOf(person)).active_organization_id).toBeNull();
    expect((await call(person, "GET", "")).body.name).toBe("Personal");
  });

  test("removing a member does not change another active organization", async () => {
    const person = await addMember(world, home, "member");
    const elsewhere = (await world.call("POST", "/organizations", { token: person.token, body: { name: "Elsewhere" } })).body;
    await remove(admin, person.member_id);
    expect((await rowOf(person)).active_organization_id).toBe(elsewhere.id);
  });
});
