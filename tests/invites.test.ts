import {
  organization_board_access,
  organization_invite_board_access,
  organization_invites,
  organization_members,
  users,
} from "@board/core/db/schema";
import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { createWorld, type Person, type Tenant, type World } from "./support/world.ts";

const MISSED = { detail: "Not Found" };

let world: World;
let people = 0;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

describe.each(["/organizations", "/api/v1/organizations"])("under %s", (prefix) => {
  let home: Tenant;
  let abroad: Tenant;
  let second_board_id: string;

  beforeAll(async () => {
    home = await world.tenant(`home${++people}`);
    abroad = await world.tenant(`abroad${++people}`);
    second_board_id = (await addBoard(world, home)).board_id;
  });

  const call = (person: Person, method: string, path: string, body?: unknown) =>
    world.call(method, prefix + path, { token: person.token, ...(body === undefined ? {} : { body }) });
  const invite = (invited_email: unknown, more: object = {}) =>
    call(home.owner, "POST", "/me/invites", { invited_email, ...more });
  const accept = (person: Person, token: unknown) => call(person, "POST", "/invites/accept", { token });
  const revoke = (id: string) => call(home.owner, "DELETE", `/me/invites/${id}`);
  const list = async (query = "") => (await call(home.owner, "GET", `/me/invites${query}`)).body;
  const person = () => world.person(`guest-${++people}`);
  const emailOf = (one: Person) => `${one.subject}@example.com`;
  const userOf = async (one: Person) => (await world.db.select().from(users).where(eq(users.auth_subject, one.subject)))[0]!;
  const membership = async (one: Person) =>
    (
      await world.db
        .select()
        .from(organization_members)
        .where(
          and(
            eq(organization_members.organization_id, home.organization_id),
            eq(organization_members.user_id, (await userOf(one)).id),
          ),
        )
    )[0];

  test("an invite has the defaults of the contract and a token of 32 characters", async () => {
    const made = await invite("  New.Person@Example.COM ");
    expect([made.status, made.body]).toEqual([
      200,
      {
        id: expect.any(String),
        organization_id: home.organization_id,
        invited_email: "new.person@example.com",
        role: "member",
        all_boards_read: false,
        all_boards_write: false,
        token: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
        created_by_user_id: (await userOf(home.owner)).id,
        accepted_by_user_id: null,
        accepted_at: null,
        created_at: expect.any(String),
        updated_at: made.body.created_at,
      },
    ]);
    expect((await list()).items).toContainEqual(made.body);
  });

  test("the token is sealed in the database, and in no log", async () => {
    const { id, token } = (await invite("sealed@example.com")).body;
    const [row] = await world.db.select().from(organization_invites).where(eq(organization_invites.id, id));
    expect(JSON.stringify({ ...row, token_sealed: Buffer.from(row!.token_sealed).toString("latin1") })).not.toContain(token);
    await accept(await person(), token);
    expect(JSON.stringify(world.log)).not.toContain(token);
  });

  test.each<[unknown, string]>([
    [undefined, "missing"],
    [null, "string_type"],
    ["  ", "string_too_short"],
    ["nobody", "value_error"],
    ["a@b@c", "value_error"],
    [`${"x".repeat(309)}@example.com`, "string_too_long"],
  ])("%j is no address to invite", async (email, type) => {
    const refused = await invite(email);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["body", "invited_email"] }]]);
  });

  test("the role is one of three, flags are booleans", async () => {
    for (const role of ["owner", "admin", "member"])
      expect((await invite(`${role}-${++people}@example.com`, { role })).body.role).toBe(role);
    for (const wrong of [{ role: "guest" }, { role: null }, { all_boards_read: 1 }, { board_access: {} }])
      expect((await invite("wrong@example.com", wrong)).status).toBe(422);
  });

  test("a board that is not the organization's is refused, then one that is named twice", async () => {
    const own = { board_id: home.board_id };
    const foreign = await invite("boards@example.com", { board_access: [own, own, { board_id: abroad.board_id }] });
    expect([foreign.status, foreign.body]).toEqual([422, { detail: "One or more boards do not belong to the organization" }]);
    const twice = await invite("boards@example.com", { board_access: [own, own] });
    expect([twice.status, twice.body]).toEqual([422, { detail: "Duplicate board_id" }]);
  });

  test("boards are judged before members, members before open invites", async () => {
    const foreign = { board_access: [{ board_id: abroad.board_id }] };
    const email = emailOf(home.owner);
    expect((await invite(email, foreign)).status).toBe(422);
    const member = await invite(email.toUpperCase());
    expect([member.status, member.body]).toEqual([409, { detail: "User is already a member" }]);
    await invite("twice@example.com");
    expect((await invite("twice@example.com", foreign)).status).toBe(422);
    const again = await invite(" Twice@Example.com ");
    expect([again.status, again.body]).toEqual([409, { detail: "An open invite for this email exists" }]);
  });

  test("another organization can have an open invite for the same address", async () => {
    await invite("shared@example.com");
    const other = await call(abroad.owner, "POST", "/me/invites", { invited_email: "shared@example.com" });
    expect(other.status).toBe(200);
  });

  test("two invites of one address at once are one", async () => {
    const answers = await Promise.all([invite("race@example.com"), invite("race@example.com")]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  test("the list holds open invites only, newest first, by page", async () => {
    const tenant = await world.tenant(`lists${++people}`);
    const guest = await person();
    const make = async (invited_email: string) => (await call(tenant.owner, "POST", "/me/invites", { invited_email })).body;
    const made = [];
    for (const email of ["one@example.com", "two@example.com", emailOf(guest), "three@example.com"]) made.push(await make(email));
    await accept(guest, made[2].token);
    const page = async (query = "") => (await call(tenant.owner, "GET", `/me/invites${query}`)).body;
    expect(await page()).toEqual({ items: [made[3], made[1], made[0]], total: 3, limit: 50, offset: 0 });
    expect(await page("?limit=1&offset=1")).toEqual({ items: [made[1]], total: 3, limit: 1, offset: 1 });
    expect(await page("?offset=9")).toMatchObject({ items: [], total: 3 });
    expect((await call(tenant.owner, "GET", "/me/invites?limit=201")).status).toBe(422);
  });

  test("deleting an invite revokes it and answers with it; then its address is free again", async () => {
    const guest = await person();
    const made = (await invite(emailOf(guest), { board_access: [{ board_id: home.board_id }] })).body;
    const removed = await revoke(made.id);
    expect([removed.status, removed.body]).toEqual([200, made]);
    expect((await accept(guest, made.token)).status).toBe(404);
    expect((await revoke(made.id)).status).toBe(404);
    expect((await invite(emailOf(guest))).status).toBe(200);
    const rows = await world.db
      .select()
      .from(organization_invite_board_access)
      .where(eq(organization_invite_board_access.organization_invite_id, made.id));
    expect(rows).toEqual([]);
  });

  test("deleting an accepted invite leaves the member", async () => {
    const guest = await person();
    const made = (await invite(emailOf(guest))).body;
    await accept(guest, made.token);
    const removed = await revoke(made.id);
    expect([removed.status, removed.body]).toEqual([
      200,
      {
        ...made,
        accepted_by_user_id: (await userOf(guest)).id,
        accepted_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect(await membership(guest)).toMatchObject({ role: "member" });
  });

  test("an invite of another organization does not exist", async () => {
    const made = (await call(abroad.owner, "POST", "/me/invites", { invited_email: "theirs@example.com" })).body;
    const missed = await revoke(made.id);
    expect([missed.status, missed.body]).toEqual([404, MISSED]);
    expect((await list()).items).not.toContainEqual(made);
  });

  test("who accepts becomes a member with the role, the flags and the rows of the invite, and works there", async () => {
    const guest = await person();
    const made = (
      await invite(emailOf(guest), {
        role: "admin",
        all_boards_read: true,
        board_access: [
          { board_id: home.board_id, can_write: true },
          { board_id: second_board_id, can_read: false },
        ],
      })
    ).body;
    const accepted = await accept(guest, ` ${made.token} `);
    expect(accepted.status).toBe(200);
    expect(accepted.body).toMatchObject({
      organization_id: home.organization_id,
      user_id: (await userOf(guest)).id,
      role: "admin",
      all_boards_read: true,
      all_boards_write: false,
      user: { email: emailOf(guest) },
    });
    const rights = accepted.body.board_access.map((one: { board_id: string; can_read: boolean; can_write: boolean }) => [
      one.board_id,
      [one.can_read, one.can_write],
    ]);
    expect(Object.fromEntries(rights)).toEqual({ [home.board_id]: [true, true], [second_board_id]: [false, false] });
    // No personal organization is made on the way.
    expect((await call(guest, "GET", "/me/list")).body).toMatchObject([{ id: home.organization_id, is_active: true }]);
    expect((await call(guest, "GET", "/me/member")).body).toEqual(accepted.body);
  });

  test("who works elsewhere stays there", async () => {
    const guest = await person();
    const own = (await call(guest, "GET", "/me")).body;
    const made = (await invite(emailOf(guest))).body;
    expect((await accept(guest, made.token)).status).toBe(200);
    expect((await call(guest, "GET", "/me")).body).toEqual(own);
  });

  test("a second acceptance is as if the invite were unknown", async () => {
    const guest = await person();
    const made = (await invite(emailOf(guest))).body;
    await accept(guest, made.token);
    for (const token of [made.token, "x".repeat(32), "é", made.id]) {
      const missed = await accept(guest, token);
      expect([missed.status, missed.body]).toEqual([404, MISSED]);
    }
    for (const [token, type] of [
      [undefined, "missing"],
      [" ", "string_too_short"],
      [null, "string_type"],
    ]) {
      const refused = await accept(guest, token);
      expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["body", "token"] }]]);
    }
  });

  test("only the person of the address accepts, in any case of letters", async () => {
    const guest = await person();
    const made = (await invite(emailOf(guest))).body;
    const nameless = await world.person(`nameless-${++people}`, { email: undefined });
    for (const one of [await person(), nameless, abroad.owner]) {
      const refused = await accept(one, made.token);
      expect([refused.status, refused.body]).toEqual([403, { detail: "Invite is for another email" }]);
    }
    const shouting = { ...guest, token: await world.identities.token(guest.subject, { email: emailOf(guest).toUpperCase() }) };
    expect((await accept(shouting, made.token)).status).toBe(200);
  });

  test("a member only gains: the higher role, either flag, both rows' rights", async () => {
    const guest = await person();
    const made = (
      await invite(emailOf(guest), {
        role: "member",
        all_boards_write: true,
        board_access: [
          { board_id: home.board_id, can_read: false, can_write: true },
          { board_id: second_board_id, can_read: false },
        ],
      })
    ).body;
    const organization_member_id = await world.join(guest, home.organization_id, "admin", { read: true });
    await world.db.insert(organization_board_access).values([
      { organization_member_id, board_id: home.board_id, can_read: true, can_write: false },
      { organization_member_id, board_id: second_board_id, can_read: true, can_write: true },
    ]);
    const accepted = await accept(guest, made.token);
    expect(accepted.body).toMatchObject({
      id: organization_member_id,
      role: "admin",
      all_boards_read: true,
      all_boards_write: true,
    });
    expect(accepted.body.board_access).toHaveLength(2);
    for (const one of accepted.body.board_access) expect(one).toMatchObject({ can_read: true, can_write: true });

    const raised = await world.person(`raised-${++people}`);
    const higher = (await invite(emailOf(raised), { role: "owner" })).body;
    await world.join(raised, home.organization_id, "member");
    expect((await accept(raised, higher.token)).body.role).toBe("owner");
  });

  test("a board that is gone by the time of acceptance gives no right", async () => {
    const guest = await person();
    const { board_id } = await addBoard(world, home, `Short-lived ${++people}`);
    const made = (await invite(emailOf(guest), { board_access: [{ board_id }, { board_id: home.board_id }] })).body;
    expect((await world.call("DELETE", `/api/v1/boards/${board_id}`, { token: home.owner.token })).status).toBe(200);
    const accepted = await accept(guest, made.token);
    expect(accepted.body.board_access).toMatchObject([{ board_id: home.board_id }]);
  });

  test("only admins see, make and delete invites", async () => {
    const member = await person();
    await world.join(member, home.organization_id, "member");
    const { id } = (await invite("ruled@example.com")).body;
    for (const answer of [
      await call(member, "GET", "/me/invites"),
      await call(member, "POST", "/me/invites", { invited_email: 5 }),
      await call(member, "DELETE", `/me/invites/${id}`),
    ])
      expect([answer.status, answer.body]).toEqual([403, { detail: "Forbidden" }]);
  });
});
