import { setTimeout as pause } from "node:timers/promises";
import { endpoints } from "@board/api/groups";
import { organization_board_access, organization_members, users } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { createWebhook, deposit } from "./support/webhook.ts";
import { createWorld, type Person, type Tenant, type World } from "./support/world.ts";

const MISSED = { detail: "Not Found" };
const FORBIDDEN = { detail: "Forbidden" };
const OWNER_MISSING = { detail: "Organization must have at least one owner" };

let world: World;
let people = 0;

beforeAll(async () => {
  world = await createWorld({ streams: { max_seconds: 0 } });
});
afterAll(() => world.close());

type Role = "owner" | "admin" | "member";
interface Joined extends Person {
  member_id: string;
}
async function join(tenant: Tenant, role: Role, flags: { read?: boolean; write?: boolean } = {}): Promise<Joined> {
  const person = await world.person(`person-${++people}`);
  return { ...person, member_id: await world.join(person, tenant.organization_id, role, flags) };
}
/** Stamps have milliseconds: two changes within one would look the same. */
const nextStamp = () => pause(2);
const rowOf = async (person: Person) => (await world.db.select().from(users).where(eq(users.auth_subject, person.subject)))[0]!;

describe.each(["/organizations/me", "/api/v1/organizations/me"])("under %s", (prefix) => {
  let home: Tenant;
  let abroad: Tenant;
  let owner: Joined;
  let admin: Joined;
  let member: Joined;
  let other: Joined;
  let stranger_id: string;

  const call = (person: Person, method: string, path: string, body?: unknown) =>
    world.call(method, prefix + path, { token: person.token, ...(body === undefined ? {} : { body }) });
  const get = (person: Person, id: string) => call(person, "GET", `/members/${id}`);
  const setRole = (person: Person, id: string, role: unknown) => call(person, "PATCH", `/members/${id}`, { role });
  const setAccess = (person: Person, id: string, body: unknown) => call(person, "PUT", `/members/${id}/access`, body);
  const remove = (person: Person, id: string) => call(person, "DELETE", `/members/${id}`);

  beforeAll(async () => {
    home = await world.tenant(`home${++people}`);
    abroad = await world.tenant(`abroad${++people}`);
    owner = { ...home.owner, member_id: (await call(home.owner, "GET", "/member")).body.id };
    stranger_id = (await call(abroad.owner, "GET", "/member")).body.id;
    [admin, member, other] = [await join(home, "admin"), await join(home, "member"), await join(home, "member", { read: true })];
  });

  test("a member is told with the user and the real board rights", async () => {
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

  test("members are listed by e-mail in any case of letters, then by name; those without an address come last", async () => {
    const tenant = await world.tenant(`listing${++people}`);
    const people_ = [
      { email: null, name: "Zoe" },
      { email: "b@example.com", name: "Other" },
      { email: null, name: "Adam" },
      { email: "C@example.com", name: "Third" },
      { email: "a@example.com", name: "First" },
      { email: "B@example.com", name: "Earlier" },
    ];
    for (const [index, person] of people_.entries()) {
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

  test("admins read every member, members themselves, and nobody one of another organization", async () => {
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

  test("members change nothing, before anything is told of the input", async () => {
    for (const answer of [
      await setRole(member, other.member_id, "superuser"),
      await setAccess(member, "no-id", { board_access: 5 }),
      await remove(member, stranger_id),
    ])
      expect([answer.status, answer.body]).toEqual([403, FORBIDDEN]);
  });

  test("a member of another organization does not exist, whatever the input", async () => {
    for (const id of [stranger_id, crypto.randomUUID()])
      for (const answer of [
        await setRole(owner, id, "admin"),
        await setRole(owner, id, null),
        await setAccess(owner, id, {}),
        await setAccess(owner, id, { board_access: [{}] }),
        await remove(owner, id),
      ])
        expect([answer.status, answer.body]).toEqual([404, MISSED]);
  });

  test("an admin gives any of the three roles; the flags stay and the stamp moves", async () => {
    const person = await join(home, "member", { read: true, write: true });
    const before = (await get(owner, person.member_id)).body;
    let stamp = before.updated_at;
    for (const role of ["owner", "admin", "member"]) {
      await nextStamp();
      const changed = await setRole(admin, person.member_id, role);
      expect([changed.status, changed.body]).toEqual([200, { ...before, role, updated_at: expect.any(String) }]);
      expect(changed.body.updated_at > stamp).toBe(true);
      expect((await get(owner, person.member_id)).body).toEqual(changed.body);
      stamp = changed.body.updated_at;
    }
    expect((await setRole(admin, person.member_id, "member")).body.updated_at).toBe(stamp);
  });

  test.each([["superuser"], [""], [null], [5], [undefined], ["Owner"]])("%j is no role", async (role) => {
    const refused = await setRole(owner, member.member_id, role);
    expect([refused.status, refused.body.detail]).toMatchObject([
      422,
      [{ type: role === undefined ? "missing" : "literal_error", loc: ["body", "role"] }],
    ]);
  });

  test("the last owner stays one, also by its own hand; with another owner it can be demoted", async () => {
    for (const person of [owner, admin])
      for (const role of ["admin", "member"]) {
        const refused = await setRole(person, owner.member_id, role);
        expect([refused.status, refused.body]).toEqual([422, OWNER_MISSING]);
      }
    expect((await setRole(owner, owner.member_id, "owner")).status).toBe(200);
    const second = await join(home, "owner");
    expect((await setRole(owner, owner.member_id, "admin")).body.role).toBe("admin");
    expect((await setRole(owner, owner.member_id, "owner")).body.role).toBe("owner");
    await setRole(owner, second.member_id, "member");
  });

  test("access is replaced as a whole and stored as sent, beside a flag that is set too", async () => {
    const person = await join(home, "member");
    const second = await addBoard(world, home, `Second ${prefix}`);
    const first = await setAccess(owner, person.member_id, {
      all_boards_read: true,
      board_access: [
        { board_id: home.board_id.toUpperCase(), can_write: true },
        { board_id: second.board_id, can_read: false },
      ],
    });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ all_boards_read: true, all_boards_write: false });
    const rights = (body: { board_access: { board_id: string; can_read: boolean; can_write: boolean }[] }) =>
      Object.fromEntries(body.board_access.map((one) => [one.board_id, [one.can_read, one.can_write]]));
    expect(rights(first.body)).toEqual({ [home.board_id]: [true, true], [second.board_id]: [false, false] });
    expect((await get(owner, person.member_id)).body).toEqual(first.body);

    await nextStamp();
    const next = await setAccess(admin, person.member_id, {
      all_boards_write: true,
      board_access: [{ board_id: home.board_id, can_read: false }],
    });
    expect(next.body).toMatchObject({ all_boards_read: false, all_boards_write: true });
    expect(rights(next.body)).toEqual({ [home.board_id]: [false, false] });
    const idOf = (body: typeof first.body) =>
      body.board_access.find((one: { board_id: string }) => one.board_id === home.board_id);
    expect(idOf(next.body).id).toBe(idOf(first.body).id);
    expect(idOf(next.body).updated_at > idOf(first.body).updated_at).toBe(true);

    const cleared = await setAccess(owner, person.member_id, {});
    expect(cleared.body).toMatchObject({ all_boards_read: false, all_boards_write: false, board_access: [] });
    expect((await setAccess(owner, person.member_id, {})).body).toEqual(cleared.body);
  });

  test("a board that is not the organization's is refused, then one that is named twice; nothing is changed by either", async () => {
    const before = (await get(owner, member.member_id)).body;
    const own = { board_id: home.board_id };
    for (const foreign of [abroad.board_id, crypto.randomUUID()]) {
      const refused = await setAccess(owner, member.member_id, {
        all_boards_read: true,
        board_access: [own, own, { board_id: foreign }],
      });
      expect([refused.status, refused.body]).toEqual([422, { detail: "One or more boards do not belong to the organization" }]);
    }
    const twice = await setAccess(owner, member.member_id, { all_boards_read: true, board_access: [own, own] });
    expect([twice.status, twice.body]).toEqual([422, { detail: "Duplicate board_id" }]);
    expect((await get(owner, member.member_id)).body).toEqual(before);
  });

  test.each<[unknown, string, (string | number)[]]>([
    [{ all_boards_read: "true" }, "bool_type", ["all_boards_read"]],
    [{ all_boards_write: null }, "bool_type", ["all_boards_write"]],
    [{ board_access: null }, "list_type", ["board_access"]],
    [{ board_access: [{}] }, "missing", ["board_access", 0, "board_id"]],
    [{ board_access: [{ board_id: "x" }] }, "uuid_parsing", ["board_access", 0, "board_id"]],
    [{ board_access: Array.from({ length: 201 }, () => ({ board_id: crypto.randomUUID() })) }, "too_long", ["board_access"]],
  ])("access of another form is refused", async (body, type, loc) => {
    const refused = await setAccess(owner, member.member_id, body);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["body", ...loc] }]]);
  });

  test("nobody removes themselves, only owners remove owners, and a refusal changes nothing", async () => {
    for (const person of [owner, admin]) {
      const refused = await remove(person, person.member_id);
      expect([refused.status, refused.body]).toEqual([403, { detail: "You cannot remove yourself from the organization" }]);
    }
    const refused = await remove(admin, owner.member_id);
    expect([refused.status, refused.body]).toEqual([403, { detail: "Only owners can remove owners" }]);
    const second = await join(home, "owner");
    const removed = await remove(owner, second.member_id);
    expect([removed.status, removed.body]).toEqual([200, { ok: true }]);
  });

  test("who is removed loses the board rights and works on in the oldest other membership", async () => {
    const person = await join(home, "member", { write: true });
    await world.db
      .insert(organization_board_access)
      .values({ organization_member_id: person.member_id, board_id: home.board_id, can_read: true, can_write: true });
    const oldest = (await world.call("POST", "/organizations", { token: person.token, body: { name: "Oldest" } })).body;
    await world.call("POST", "/organizations", { token: person.token, body: { name: "Newest" } });
    await call(person, "PATCH", "/active", { organization_id: home.organization_id });
    // The home membership is the oldest of all: it must not be taken for another one.
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

  test("who is removed and has no other membership works in none, until the next request makes one", async () => {
    const person = await join(home, "member");
    await remove(admin, person.member_id);
    expect((await rowOf(person)).active_organization_id).toBeNull();
    expect((await call(person, "GET", "")).body.name).toBe("Personal");
  });

  test("who works elsewhere stays there", async () => {
    const person = await join(home, "member");
    const elsewhere = (await world.call("POST", "/organizations", { token: person.token, body: { name: "Elsewhere" } })).body;
    await remove(admin, person.member_id);
    expect((await rowOf(person)).active_organization_id).toBe(elsewhere.id);
  });
});

test("a member without grants sees nothing of boards, anywhere", async () => {
  const home = await world.tenant("full-home");
  const webhook = await createWebhook(world, home, { description: "Hidden instruction" });
  const payload_id = await deposit(world, webhook, '{"hidden": "payload"}');
  const member = await join(home, "member");
  const hidden = [
    home.board_id,
    home.gateway_id,
    home.lead.id,
    home.worker.id,
    webhook.id,
    payload_id,
    "full-home board",
    "full-home host",
    "Hidden instruction",
  ];
  const known: Record<string, string> = {
    board_id: home.board_id,
    gateway_id: home.gateway_id,
    agent_id: home.worker.id,
    webhook_id: webhook.id,
    payload_id,
    member_id: member.member_id,
  };
  const reads = endpoints.filter(({ method, spec }) => method === "GET" && spec.as.users);
  const seen: string[] = [];
  for (const path of reads.flatMap(({ paths }) => paths)) {
    const target = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => known[name] ?? crypto.randomUUID());
    const { status, text } = await world.call("GET", target, { token: member.token });
    if (status >= 500 || hidden.some((one) => text.includes(one))) seen.push(`${path}: ${status} ${text}`);
  }
  expect(reads.length).toBeGreaterThan(10);
  expect(seen).toEqual([]);
});
