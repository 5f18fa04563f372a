/** Tests the board rights that admins grant to members, and that members have no access without a grant. */
import { endpoints } from "@board/api/groups";
import { beforeAll, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addMember, type MemberPerson, createMemberCalls, waitForNextTimestamp } from "./member-calls.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ streams: { max_seconds: 0 } });
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

describe.each(["/organizations/me", "/api/v1/organizations/me"])("member access under %s", (prefix) => {
  let owner: MemberPerson;
  let admin: MemberPerson;
  let member: MemberPerson;

  const { call, get, setAccess } = createMemberCalls(prefix, () => world);

  beforeAll(async () => {
    owner = { ...home.owner, member_id: (await call(home.owner, "GET", "/member")).body.id };
    [admin, member] = [await addMember(world, home, "admin"), await addMember(world, home, "member")];
  });

  test("board access is replaced as a whole and stored as sent, next to the flags", async () => {
    const person = await addMember(world, home, "member");
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
      Object.fromEntries(body.board_access.map((row) => [row.board_id, [row.can_read, row.can_write]]));
    expect(rights(first.body)).toEqual({ [home.board_id]: [true, true], [second.board_id]: [false, false] });
    expect((await get(owner, person.member_id)).body).toEqual(first.body);

    await waitForNextTimestamp();
    const next = await setAccess(admin, person.member_id, {
      all_boards_write: true,
      board_access: [{ board_id: home.board_id, can_read: false }],
    });
    expect(next.body).toMatchObject({ all_boards_read: false, all_boards_write: true });
    expect(rights(next.body)).toEqual({ [home.board_id]: [false, false] });
    const homeRow = (body: typeof first.body) =>
      body.board_access.find((row: { board_id: string }) => row.board_id === home.board_id);
    expect(homeRow(next.body).id).toBe(homeRow(first.body).id);
    expect(homeRow(next.body).updated_at > homeRow(first.body).updated_at).toBe(true);

    const cleared = await setAccess(owner, person.member_id, {});
    expect(cleared.body).toMatchObject({ all_boards_read: false, all_boards_write: false, board_access: [] });
    expect((await setAccess(owner, person.member_id, {})).body).toEqual(cleared.body);
  });

  test("access with a board of another organization, or with a board that is named twice, is refused and changes nothing", async () => {
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
  ])("an invalid access body is refused: %.60j", async (body, type, loc) => {
    const refused = await setAccess(owner, member.member_id, body);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["body", ...loc] }]]);
  });
});

test("a member without grants sees nothing of any board at any endpoint", async () => {
  const home = await world.tenant("full-home");
  const webhook = await createWebhook(world, home, { description: "Hidden instruction" });
  const payload_id = await postPayload(world, webhook, '{"hidden": "payload"}');
  const member = await addMember(world, home, "member");
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
  const pathParameters: Record<string, string> = {
    board_id: home.board_id,
    gateway_id: home.gateway_id,
    agent_id: home.worker.id,
    webhook_id: webhook.id,
    payload_id,
    member_id: member.member_id,
  };
  const reads = endpoints.filter(({ method, spec }) => method === "GET" && spec.as.users);
  const leaks: string[] = [];
  for (const path of reads.flatMap(({ paths }) => paths)) {
    const target = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => pathParameters[name] ?? crypto.randomUUID());
    const { status, text } = await world.call("GET", target, { token: member.token });
    if (status >= 500 || hidden.some((secret) => text.includes(secret))) leaks.push(`${path}: ${status} ${text}`);
  }
  expect(reads.length).toBeGreaterThan(10);
  expect(leaks).toEqual([]);
});
