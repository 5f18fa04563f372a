import { organization_board_access } from "@board/core/schema/all-tables";
import { describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { createGuest, emailOf, createInviteCalls } from "./invite-calls.ts";
import { setupWorld } from "../support/fixtures.ts";

const MISSED = { detail: "Not Found" };

let people = 0;

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const second_board_id: string = (await addBoard(world, home)).board_id;

describe.each(["/organizations", "/api/v1/organizations"])("accepting an invite under %s", (prefix) => {
  const { call, invite, accept, userOf } = createInviteCalls(prefix, () => ({ world, home }));

  test("accepting an invite grants its role, flags and board rights and makes the organization active", async () => {
    const guest = await createGuest(world);
    const created = (
      await invite(emailOf(guest), {
        role: "admin",
        all_boards_read: true,
        board_access: [
          { board_id: home.board_id, can_write: true },
          { board_id: second_board_id, can_read: false },
        ],
      })
    ).body;
    const accepted = await accept(guest, ` ${created.token} `);
    expect(accepted.status).toBe(200);
    expect(accepted.body).toMatchObject({
      organization_id: home.organization_id,
      user_id: (await userOf(guest)).id,
      role: "admin",
      all_boards_read: true,
      all_boards_write: false,
      user: { email: emailOf(guest) },
    });
    const rights = accepted.body.board_access.map((row: { board_id: string; can_read: boolean; can_write: boolean }) => [
      row.board_id,
      [row.can_read, row.can_write],
    ]);
    expect(Object.fromEntries(rights)).toEqual({ [home.board_id]: [true, true], [second_board_id]: [false, false] });
    // Accepting creates no personal organization.
    expect((await call(guest, "GET", "/me/list")).body).toMatchObject([{ id: home.organization_id, is_active: true }]);
    expect((await call(guest, "GET", "/me/member")).body).toEqual(accepted.body);
  });

  test("accepting an invite does not change an active organization", async () => {
    const guest = await createGuest(world);
    const own = (await call(guest, "GET", "/me")).body;
    const created = (await invite(emailOf(guest))).body;
    expect((await accept(guest, created.token)).status).toBe(200);
    expect((await call(guest, "GET", "/me")).body).toEqual(own);
  });

  test("an accepted invite cannot be accepted again: it is not found", async () => {
    const guest = await createGuest(world);
    const created = (await invite(emailOf(guest))).body;
    await accept(guest, created.token);
    for (const token of [created.token, "x".repeat(32), "é", created.id]) {
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

  test("only the invited email address can accept, ignoring case", async () => {
    const guest = await createGuest(world);
    const created = (await invite(emailOf(guest))).body;
    const nameless = await world.person(`nameless-${++people}`, { email: undefined });
    for (const stranger of [await createGuest(world), nameless, abroad.owner]) {
      const refused = await accept(stranger, created.token);
      expect([refused.status, refused.body]).toEqual([403, { detail: "Invite is for another email" }]);
    }
    const shouting = { ...guest, token: await world.identities.token(guest.subject, { email: emailOf(guest).toUpperCase() }) };
    expect((await accept(shouting, created.token)).status).toBe(200);
  });

  test("a member who accepts an invite keeps the higher role, and has the flags and rights of both membership and invite", async () => {
    const guest = await createGuest(world);
    const created = (
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
    const accepted = await accept(guest, created.token);
    expect(accepted.body).toMatchObject({
      id: organization_member_id,
      role: "admin",
      all_boards_read: true,
      all_boards_write: true,
    });
    expect(accepted.body.board_access).toHaveLength(2);
    for (const row of accepted.body.board_access) expect(row).toMatchObject({ can_read: true, can_write: true });

    const raised = await world.person(`raised-${++people}`);
    const higher = (await invite(emailOf(raised), { role: "owner" })).body;
    await world.join(raised, home.organization_id, "member");
    expect((await accept(raised, higher.token)).body.role).toBe("owner");
  });

  test("a board deleted before acceptance grants no right", async () => {
    const guest = await createGuest(world);
    const { board_id } = await addBoard(world, home, `Short-lived ${++people}`);
    const created = (await invite(emailOf(guest), { board_access: [{ board_id }, { board_id: home.board_id }] })).body;
    expect((await world.call("DELETE", `/api/v1/boards/${board_id}`, { token: home.owner.token })).status).toBe(200);
    const accepted = await accept(guest, created.token);
    expect(accepted.body.board_access).toMatchObject([{ board_id: home.board_id }]);
  });
});
