import { organization_invite_board_access, organization_invites } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { createGuest, emailOf, createInviteCalls } from "./invite-calls.ts";
import { setupWorld } from "../support/fixtures.ts";
import type { Tenant } from "../support/world.ts";

let people = 0;

const world = await setupWorld();

describe.each(["/organizations", "/api/v1/organizations"])("invites under %s", (prefix) => {
  let home: Tenant;
  let abroad: Tenant;

  beforeAll(async () => {
    home = await world.tenant(`home${++people}`);
    abroad = await world.tenant(`abroad${++people}`);
  });

  const { call, invite, accept, revoke, list, userOf, membership } = createInviteCalls(prefix, () => ({ world, home }));

  test("an invite has default rights and a token of 32 characters", async () => {
    const created = await invite("  New.Person@Example.COM ");
    expect([created.status, created.body]).toEqual([
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
        updated_at: created.body.created_at,
      },
    ]);
    expect((await list()).items).toContainEqual(created.body);
  });

  test("an invite token is encrypted in the database and appears in no log", async () => {
    const { id, token } = (await invite("sealed@example.com")).body;
    const [row] = await world.db.select().from(organization_invites).where(eq(organization_invites.id, id));
    expect(JSON.stringify({ ...row, token_sealed: Buffer.from(row!.token_sealed).toString("latin1") })).not.toContain(token);
    await accept(await createGuest(world), token);
    expect(JSON.stringify(world.log)).not.toContain(token);
  });

  test.each<[unknown, string]>([
    [undefined, "missing"],
    [null, "string_type"],
    ["  ", "string_too_short"],
    ["nobody", "value_error"],
    ["a@b@c", "value_error"],
    [`${"x".repeat(309)}@example.com`, "string_too_long"],
  ])("an invite to the address %j is refused", async (email, type) => {
    const refused = await invite(email);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["body", "invited_email"] }]]);
  });

  test("an invite's role is one of three, and its flags are booleans", async () => {
    for (const role of ["owner", "admin", "member"])
      expect((await invite(`${role}-${++people}@example.com`, { role })).body.role).toBe(role);
    for (const wrong of [{ role: "guest" }, { role: null }, { all_boards_read: 1 }, { board_access: {} }])
      expect((await invite("wrong@example.com", wrong)).status).toBe(422);
  });

  test("an invite to a board of another organization is refused, and so is one that names a board twice", async () => {
    const own = { board_id: home.board_id };
    const foreign = await invite("boards@example.com", { board_access: [own, own, { board_id: abroad.board_id }] });
    expect([foreign.status, foreign.body]).toEqual([422, { detail: "One or more boards do not belong to the organization" }]);
    const twice = await invite("boards@example.com", { board_access: [own, own] });
    expect([twice.status, twice.body]).toEqual([422, { detail: "Duplicate board_id" }]);
  });

  test("an invite is checked for boards first, then for members, then for open invites", async () => {
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

  test("two concurrent invites of one address create one", async () => {
    const answers = await Promise.all([invite("race@example.com"), invite("race@example.com")]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  test("open invites are listed newest first, by page; accepted ones are not", async () => {
    const tenant = await world.tenant(`lists${++people}`);
    const guest = await createGuest(world);
    const make = async (invited_email: string) => (await call(tenant.owner, "POST", "/me/invites", { invited_email })).body;
    const created = [];
    for (const email of ["one@example.com", "two@example.com", emailOf(guest), "three@example.com"])
      created.push(await make(email));
    await accept(guest, created[2].token);
    const page = async (query = "") => (await call(tenant.owner, "GET", `/me/invites${query}`)).body;
    expect(await page()).toEqual({ items: [created[3], created[1], created[0]], total: 3, limit: 50, offset: 0 });
    expect(await page("?limit=1&offset=1")).toEqual({ items: [created[1]], total: 3, limit: 1, offset: 1 });
    expect(await page("?offset=9")).toMatchObject({ items: [], total: 3 });
    expect((await call(tenant.owner, "GET", "/me/invites?limit=201")).status).toBe(422);
  });

  test("deleting an invite revokes and returns it, and its address can be invited again", async () => {
    const guest = await createGuest(world);
    const created = (await invite(emailOf(guest), { board_access: [{ board_id: home.board_id }] })).body;
    const removed = await revoke(created.id);
    expect([removed.status, removed.body]).toEqual([200, created]);
    expect((await accept(guest, created.token)).status).toBe(404);
    expect((await revoke(created.id)).status).toBe(404);
    expect((await invite(emailOf(guest))).status).toBe(200);
    const rows = await world.db
      .select()
      .from(organization_invite_board_access)
      .where(eq(organization_invite_board_access.organization_invite_id, created.id));
    expect(rows).toEqual([]);
  });

  test("deleting an accepted invite keeps the member", async () => {
    const guest = await createGuest(world);
    const created = (await invite(emailOf(guest))).body;
    await accept(guest, created.token);
    const removed = await revoke(created.id);
    expect([removed.status, removed.body]).toEqual([
      200,
      {
        ...created,
        accepted_by_user_id: (await userOf(guest)).id,
        accepted_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect(await membership(guest)).toMatchObject({ role: "member" });
  });
});
