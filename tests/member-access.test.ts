import { endpoints } from "@board/api/groups";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { addMember, type Joined, membersAt, nextStamp } from "./support/member.ts";
import { createWebhook, deposit } from "./support/webhook.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

/** What members may do on boards: what admins grant them, and that there is nothing without a grant. */
let world: World;
let home: Tenant;
let abroad: Tenant;

beforeAll(async () => {
  world = await createWorld({ streams: { max_seconds: 0 } });
  home = await world.tenant("home");
  abroad = await world.tenant("abroad");
});
afterAll(() => world.close());

describe.each(["/organizations/me", "/api/v1/organizations/me"])("under %s", (prefix) => {
  let owner: Joined;
  let admin: Joined;
  let member: Joined;

  const { call, get, setAccess } = membersAt(prefix, () => world);

  beforeAll(async () => {
    owner = { ...home.owner, member_id: (await call(home.owner, "GET", "/member")).body.id };
    [admin, member] = [await addMember(world, home, "admin"), await addMember(world, home, "member")];
  });

  test("access is replaced as a whole and stored as sent, beside a flag that is set too", async () => {
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
});

test("a member without grants sees nothing of boards, anywhere", async () => {
  const home = await world.tenant("full-home");
  const webhook = await createWebhook(world, home, { description: "Hidden instruction" });
  const payload_id = await deposit(world, webhook, '{"hidden": "payload"}');
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
