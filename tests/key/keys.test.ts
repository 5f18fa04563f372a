import { setTimeout as pause } from "node:timers/promises";
import { api_key_tokens, api_keys, organizations, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { setupWorld } from "../support/fixtures.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { addTask } from "../support/task.ts";
import type { Person, Tenant } from "../support/world.ts";

const DAY = 24 * 60 * 60_000;

const world = await setupWorld({ streams: { max_seconds: 0 } });
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const tasks = `/api/v1/boards/${home.board_id}/tasks`;

const create = (person: Person, body: object, path = "/api/v1/keys") =>
  world.call("POST", path, { token: person.token, body: { name: "Deploy script", access: "write", ...body } });
const createOwn = (person: Person, body: object) => create(person, body, "/api/v1/users/me/keys");
const keyOf = async (body: object, at: Tenant = home): Promise<Person & { id: string }> => {
  const answer = await create(at.owner, body);
  expect(answer.status).toBe(200);
  return { subject: answer.body.name, token: answer.body.key, id: answer.body.id };
};
const write = ({ token }: { token: string }, board_id = home.board_id) =>
  world.call("POST", `/api/v1/boards/${board_id}/memory`, { token, body: { content: "The fence is green." } });
const list = ({ token }: { token: string }, path = tasks) => world.call("GET", path, { token });

test("the response of creation has the key and, only this once, its secret", async () => {
  const { status, body } = await create(home.owner, { name: " CI ", access: "read", board_ids: [home.board_id] });
  expect(status).toBe(200);
  expect(body).toEqual({
    id: expect.any(String),
    organization_id: home.organization_id,
    name: "CI",
    access: "read",
    board_ids: [home.board_id],
    personal: false,
    prefix: body.key.slice(0, 9),
    created_by_user_id: expect.any(String),
    last_used_at: null,
    expires_at: expect.any(String),
    created_at: expect.any(String),
    updated_at: body.created_at,
    key: expect.stringMatching(/^bk_[0-9A-Za-z]{43}$/),
  });
  expect(Math.round((Date.parse(body.expires_at) - world.now().getTime()) / DAY)).toBe(90);
  const { key: _key, ...shown } = body;
  const listed = await world.call("GET", "/api/v1/keys", { token: home.owner.token });
  expect(listed.body.items).toContainEqual(shown);
  const read = await world.call("GET", `/api/v1/keys/${body.id}`, { token: home.owner.token });
  expect(read.body).toEqual(shown);
});

test("a comment names the key that wrote it, and users/me shows a key its own id and name", async () => {
  const key = await keyOf({ name: "Release bot" });
  const { id } = await addTask(world, home);
  const answer = await world.call("POST", `${tasks}/${id}/comments`, { token: key.token, body: { message: "Released" } });
  expect(answer.status).toBe(200);
  const comments = await list(home.owner, `${tasks}/${id}/comments`);
  expect(JSON.stringify(comments.body.items)).toContain(key.id);
  const me = await world.call("GET", "/api/v1/users/me", { token: key.token });
  expect(me.body).toMatchObject({ id: key.id, name: "Release bot" });
});

test("a key with read access reads everything that it may see, and changes nothing", async () => {
  const key = await keyOf({ access: "read" });
  expect((await list(key)).status).toBe(200);
  const refused = await write(key);
  expect(refused.status).toBe(403);
  expect(refused.body.detail).toBe("Only keys with write access can change anything");
});

test("a key with write access works on boards and does nothing that needs an admin", async () => {
  const key = await keyOf({ access: "write" });
  expect((await write(key)).status).toBe(200);
  expect((await world.call("POST", "/api/v1/keys", { token: key.token, body: { name: "More", access: "read" } })).status).toBe(
    403,
  );
  const invite = { token: key.token, body: { invited_email: "new@example.com" } };
  expect((await world.call("POST", "/organizations/me/invites", invite)).status).toBe(403);
});

test("a key with write access does what a member does on a board: tasks, decisions, webhooks and subscriptions", async () => {
  const key = await keyOf({ access: "write", name: "Deployer" });
  const send = async (method: string, path: string, body?: object) => {
    const answer = await world.call(method, path, { token: key.token, body });
    expect([method, path, answer.status], answer.text).toEqual([method, path, 200]);
    return answer.body;
  };
  const board = `/api/v1/boards/${home.board_id}`;
  expect(await send("GET", board)).toMatchObject({ id: home.board_id });
  await send("PATCH", board, { description: "Kept by a program" });
  const task = await send("POST", tasks, { title: "Roll back" });
  expect(task).toMatchObject({ created_by_user_id: key.id });
  expect(await send("POST", "/api/v1/tasks", { board_id: home.board_id, title: "Announce it" })).toMatchObject({
    title: "Announce it",
  });
  await send("PATCH", `${tasks}/${task.id}`, { status: "in_progress" });
  const approval = await send("POST", `${board}/approvals`, { action_type: "Deploy", description: "It is ready" });
  expect(await send("PATCH", `${board}/approvals/${approval.id}`, { status: "approved" })).toMatchObject({ status: "approved" });
  const audit = await world.call("GET", "/api/v1/audit?action=approval.decided", { token: home.owner.token });
  expect(audit.body.items[0]).toMatchObject({ actor: { type: "key", id: key.id, name: "Deployer" } });
  const webhook = await send("POST", `${board}/webhooks`, { description: "CI" });
  await send("DELETE", `${board}/webhooks/${webhook.id}`);
  const subscription = await send("POST", `${board}/subscriptions`, { url: "https://93.184.215.14/events" });
  await send("DELETE", `${board}/subscriptions/${subscription.id}`);
  expect(await send("GET", `${tasks}/${task.id}/followers`)).toBeDefined();
  await send("DELETE", `${tasks}/${task.id}`);
});

test("every key, also a member's, is refused what only people can do, such as reading an inbox, following a board and saving views", async () => {
  const person = await world.member("person of keys", home, "member", { write: true });
  const keys: { access: string; token: string }[] = [];
  for (const access of ["read", "write", "admin"])
    for (const made of [await create(home.owner, { access }), await createOwn(person, { access })])
      keys.push({ access, token: made.body.key });
  const board = `/api/v1/boards/${home.board_id}`;
  for (const [method, path, body] of [
    ["PATCH", "/api/v1/users/me", { name: "Robot" }],
    ["GET", "/api/v1/users/me/inbox"],
    ["GET", "/api/v1/users/me/keys"],
    ["GET", "/api/v1/organizations/me/list"],
    ["POST", "/organizations", { name: "Own" }],
    ["GET", `${board}/follow`],
    ["PUT", `${board}/follow`],
    ["GET", `${board}/saved-views`],
    ["GET", `${board}/onboarding`],
  ] as const)
    for (const { access, token } of keys) {
      const answer = await world.call(method, path, { token, body });
      const refusal = [403, "Only people can do this, not keys"];
      expect([access, method, path, answer.status, answer.body.detail]).toEqual([access, method, path, ...refusal]);
    }
});

test("a key with admin access acts as an admin and never as an owner", async () => {
  const key = await keyOf({ access: "admin" });
  expect((await world.call("POST", "/api/tags", { token: key.token, body: { name: "Urgent" } })).status).toBe(200);
  expect((await world.call("DELETE", "/organizations/me", { token: key.token })).status).toBe(403);
  const endless = await create({ subject: "", token: key.token }, { expires_at: null });
  expect(endless.status).toBe(403);
});

test("a key that is limited to boards sees only these boards, even with admin access, and creates only keys with the same limit", async () => {
  const { board_id } = await addBoard(world, home, "Elsewhere");
  const key = await keyOf({ access: "admin", board_ids: [board_id] });
  expect((await list(key, "/api/v1/boards")).body.items.map(({ id }: { id: string }) => id)).toEqual([board_id]);
  expect((await list(key)).status).toBe(404);
  expect((await write(key)).status).toBe(404);
  expect((await write(key, board_id)).status).toBe(200);
  const wider = await create({ subject: "", token: key.token }, {});
  expect([wider.status, wider.body.detail]).toEqual([403, "Only boards of the calling key can be given to a new key"]);
  expect((await create({ subject: "", token: key.token }, { board_ids: [board_id] })).status).toBe(200);
});

test("a key that is limited to boards rotates only keys that are limited to these boards", async () => {
  const { board_id } = await addBoard(world, home, "Limited");
  const key = await keyOf({ access: "admin", board_ids: [board_id] });
  const rotate = (id: string) => world.call("POST", `/api/v1/keys/${id}/rotate`, { token: key.token, body: {} });
  for (const board_ids of [null, [home.board_id], [board_id, home.board_id]]) {
    const refused = await rotate((await keyOf({ board_ids })).id);
    expect([refused.status, refused.body.detail, refused.body.key]).toEqual([
      403,
      "Only keys for boards of the calling key can be rotated",
      undefined,
    ]);
  }
  const own = await keyOf({ board_ids: [board_id] });
  expect([(await rotate(own.id)).status, (await rotate(key.id)).status]).toEqual([200, 200]);
});

test("a key that is limited to boards gives nobody access to other boards, and administers only keys and agents of its boards", async () => {
  const { board_id } = await addBoard(world, home, "Alone");
  const { token } = await keyOf({ access: "admin", board_ids: [board_id] });
  const member = await world.member("limited", home);
  const { id } = (await world.call("GET", "/organizations/me/member", { token: member.token })).body;
  const invite = { invited_email: "all@example.com", all_boards_write: true };
  const main = await actAsMainAgent(world, home.gateway_id);
  for (const [method, path, body] of [
    ["POST", "/organizations/me/invites", invite],
    ["GET", "/organizations/me/invites"],
    ["PUT", `/organizations/me/members/${id}/access`, { all_boards_write: true }],
    ["PATCH", `/organizations/me/members/${id}`, { role: "admin" }],
    ["POST", "/api/v1/subscriptions", { url: "https://93.184.215.14/" }],
    ["GET", "/api/v1/jobs"],
    ["GET", "/api/v1/audit"],
    ["POST", `/api/v1/agents/${main.id}/token`],
  ] as const) {
    const answer = await world.call(method, path, { token, ...(body && { body }) });
    expect([method, path, answer.status, answer.body.detail]).toEqual([
      method,
      path,
      403,
      "Only keys for all boards can do this",
    ]);
  }
  const other = await keyOf({});
  const revoke = (key_id: string) => world.call("DELETE", `/api/v1/keys/${key_id}`, { token });
  expect((await revoke(other.id)).body.detail).toBe("Only keys for boards of the calling key can be revoked");
  expect((await revoke((await keyOf({ board_ids: [board_id] })).id)).status).toBe(200);
  const agent = await world.call("POST", "/api/v1/agents", { token, body: { name: "Helper", board_id, is_board_lead: true } });
  expect(agent.status).toBe(200);
  const promoted = await world.call("PATCH", `/api/v1/agents/${agent.body.id}`, { token, body: { is_gateway_main: true } });
  expect([promoted.status, promoted.body.detail]).toEqual([403, "Only keys for all boards can do this"]);
});

test("a key that is limited to boards sets budgets for these boards, and neither sees nor changes those of the organization", async () => {
  const { board_id } = await addBoard(world, home, "Thrifty");
  const { token } = await keyOf({ access: "admin", board_ids: [board_id] });
  const budget = (scope: string, scope_id: string) => ({ scope, scope_id, limit: { runs: 5 } });
  const ofAll = await world.call("POST", "/api/v1/budgets", {
    token: home.owner.token,
    body: budget("organization", home.organization_id),
  });
  const path = `/api/v1/budgets/${ofAll.body.id}`;
  expect((await world.call("PATCH", path, { token, body: { limit: { runs: 500 } } })).status).toBe(404);
  expect((await world.call("DELETE", path, { token })).status).toBe(404);
  const created = await world.call("POST", "/api/v1/budgets", { token, body: budget("board", board_id) });
  expect(created.status).toBe(200);
  expect((await world.call("GET", "/api/v1/budgets", { token })).body.items).toEqual([created.body]);
  expect((await world.call("DELETE", path, { token: home.owner.token })).status).toBe(200);
  const again = { token, body: budget("organization", home.organization_id) };
  expect((await world.call("POST", "/api/v1/budgets", again)).status).toBe(404);
});

test("a key that is limited to boards sees no activity, no changes and no empty group outside of these boards", async () => {
  const { board_id } = await addBoard(world, home, "Blinkered");
  const { token } = await keyOf({ access: "admin", board_ids: [board_id] });
  await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body: { name: "Elsewhere", kind: "pull" } });
  const member = await world.member("promoted", home);
  const { id } = (await world.call("GET", "/organizations/me/member", { token: member.token })).body;
  await world.call("PATCH", `/organizations/me/members/${id}`, { token: home.owner.token, body: { role: "admin" } });
  const group = await world.call("POST", "/api/v1/board-groups", { token: home.owner.token, body: { name: "Empty" } });
  for (const path of ["/api/v1/activity", "/api/v1/changes?cursor="]) {
    const boardsOf = async (caller: string) => {
      const { items, changes = items } = (await world.call("GET", path, { token: caller })).body;
      return changes.map((shown: { board_id: string | null }) => shown.board_id);
    };
    expect([path, await boardsOf(home.owner.token)]).toEqual([path, expect.arrayContaining([null])]);
    expect([path, await boardsOf(token)]).not.toEqual([path, expect.arrayContaining([null])]);
  }
  expect((await world.call("GET", `/api/v1/board-groups/${group.body.id}`, { token })).status).toBe(404);
});

test("an admin's personal key for all boards acts as the admin, even without a right to a board, and a key for one board does not", async () => {
  const admin = await world.member("boardless", home, "admin");
  const own = async (board_ids: string[] | null) => (await createOwn(admin, { access: "admin", board_ids })).body.key as string;
  const invites = async (token: string) => (await world.call("GET", "/organizations/me/invites", { token })).status;
  expect([await invites(await own(null)), await invites(await own([home.board_id]))]).toEqual([200, 403]);
});

test("a revoked key is refused by the next request", async () => {
  const key = await keyOf({});
  expect((await list(key)).status).toBe(200);
  expect((await world.call("DELETE", `/api/v1/keys/${key.id}`, { token: home.owner.token })).status).toBe(200);
  expect((await list(key)).status).toBe(401);
});

/** Sends a request whose body arrives only after `change`, which is long after its headers. */
async function sendLate(path: string, token: string, sent: object, change: () => Promise<unknown>): Promise<number> {
  const body = new ReadableStream(
    {
      // The service calls this when it reads the body, after it has authenticated the request.
      async pull(controller) {
        await change();
        await pause(1_200);
        controller.enqueue(Buffer.from(JSON.stringify(sent)));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const request = { method: "POST", headers: { authorization: `Bearer ${token}` }, body, duplex: "half" };
  return (await world.app.request(path, request as RequestInit)).status;
}
const createLate = (token: string, change: () => Promise<unknown>) =>
  sendLate("/api/v1/keys", token, { name: "Late", access: "admin" }, change);

test("a request creates no key if its caller loses the right to create keys before the body has arrived", async () => {
  const { token } = home.owner;
  const asOwner = (method: string, path: string, body?: object) => world.call(method, path, { token, ...(body && { body }) });
  const admin = await world.person("late-admin");
  const path = `/organizations/me/members/${await world.join(admin, home.organization_id, "admin")}`;
  expect(await createLate(admin.token, async () => {})).toBe(200);
  expect(await createLate(admin.token, () => asOwner("PATCH", path, { role: "member" }))).toBe(403);
  await asOwner("PATCH", path, { role: "admin" });
  expect(await createLate(admin.token, () => asOwner("DELETE", path))).toBe(401);
  const key = await keyOf({ access: "admin" });
  expect(await createLate(key.token, () => asOwner("DELETE", `/api/v1/keys/${key.id}`))).toBe(401);
});

test("an agent's request changes nothing if the agent's token is replaced or the agent is moved before the body has arrived", async () => {
  const { token } = home.owner;
  const add = (agent: { token: string }, board_id: string, change: () => Promise<unknown>) =>
    sendLate(`/api/v1/agent/boards/${board_id}/memory`, agent.token, { content: "Late" }, change);
  const created = async (name: string) => {
    const { body } = await world.call("POST", "/api/v1/agents", { token, body: { name, board_id: home.board_id } });
    return { id: body.id as string, token: body.auth_token as string };
  };
  const rotated = await created("Rotated");
  expect(await add(rotated, home.board_id, async () => {})).toBe(200);
  const rotate = () => world.call("POST", `/api/v1/agents/${rotated.id}/token`, { token });
  expect(await add(rotated, home.board_id, rotate)).toBe(401);
  const moved = await created("Moved");
  const { board_id } = await addBoard(world, home, "Far");
  await world.call("PATCH", `/api/v1/boards/${board_id}`, { token, body: { max_agents: 2 } });
  const move = () => world.call("PATCH", `/api/v1/agents/${moved.id}`, { token, body: { board_id } });
  expect(await add(moved, home.board_id, move)).toBe(403);
});

test("an expired key is refused", async () => {
  const key = await keyOf({ expires_at: new Date(world.now().getTime() + DAY).toISOString() });
  expect((await list(key)).status).toBe(200);
  world.elapse(DAY);
  expect((await list(key)).status).toBe(401);
});

test("a key expires within a year, and only an owner can create one that never expires", async () => {
  const admin = await world.member("admin", home, "admin");
  const inDays = (days: number) => new Date(world.now().getTime() + days * DAY).toISOString();
  expect((await create(admin, { expires_at: inDays(365) })).status).toBe(200);
  expect((await create(admin, { expires_at: inDays(400) })).status).toBe(422);
  expect((await create(admin, { expires_at: inDays(-1) })).status).toBe(422);
  expect((await create(admin, { expires_at: null })).status).toBe(403);
  const endless = await create(home.owner, { expires_at: null });
  expect(endless.body.expires_at).toBeNull();
});

test("after a rotation both tokens work until the overlap ends", async () => {
  const key = await keyOf({ expires_at: null });
  const rotate = (body: object) => world.call("POST", `/api/v1/keys/${key.id}/rotate`, { token: home.owner.token, body });
  const rotated = await rotate({ overlap_hours: 1 });
  expect(rotated.body).toMatchObject({ id: key.id, key: expect.stringMatching(/^bk_/), prefix: rotated.body.key.slice(0, 9) });
  const second = { token: rotated.body.key };
  expect([(await list(key)).status, (await list(second)).status]).toEqual([200, 200]);
  world.elapse(60 * 60_000);
  expect([(await list(key)).status, (await list(second)).status]).toEqual([401, 200]);
  const last = { token: (await rotate({ overlap_hours: 0 })).body.key };
  expect([(await list(second)).status, (await list(last)).status]).toEqual([401, 200]);
});

test("the last use is shown to the minute, and is stored once a minute", async () => {
  const key = await keyOf({});
  const lastUse = async () => (await world.call("GET", `/api/v1/keys/${key.id}`, { token: home.owner.token })).body.last_used_at;
  await list(key);
  const first = await lastUse();
  expect(first).toMatch(/:00\.000Z$/);
  expect(await world.countStatements(() => list(key))).toBeLessThan(4);
  world.elapse(60_000);
  await list(key);
  expect(Date.parse(await lastUse()) - Date.parse(first)).toBe(60_000);
});

test("a mistyped key is refused without a look-up", async () => {
  const { token } = await keyOf({});
  const mistyped = `${token.slice(0, 20)}${token[20] === "a" ? "b" : "a"}${token.slice(21)}`;
  const lookups: string[] = [];
  world.statements.length = 0;
  expect((await list({ token: mistyped })).status).toBe(401);
  lookups.push(...world.statements.filter((statement) => statement.includes("api_key_tokens")));
  expect(lookups).toEqual([]);
});

test("keys are in no list of people, and cannot be changed as members", async () => {
  const key = await keyOf({ access: "admin" });
  const members = await world.call("GET", "/organizations/me/members?limit=200", { token: home.owner.token });
  expect(JSON.stringify(members.body)).not.toContain(key.id);
  const own = (await world.call("GET", "/organizations/me/member", { token: key.token })).body;
  expect(own).toMatchObject({ role: "admin", user_id: key.id });
  const path = `/organizations/me/members/${own.id}`;
  for (const [method, at, body] of [
    ["GET", path, undefined],
    ["PATCH", path, { role: "owner" }],
    ["PUT", `${path}/access`, { all_boards_read: true, all_boards_write: true, board_access: [] }],
    ["DELETE", path, undefined],
  ] as const)
    expect((await world.call(method, at, { token: home.owner.token, ...(body ? { body } : {}) })).status).toBe(404);
});

test("a key is refused operations on a person's profile, organizations, invites and personal keys", async () => {
  const { token } = await keyOf({ access: "admin" });
  for (const [method, path, body] of [
    ["PATCH", "/api/v1/users/me", { name: "Somebody" }],
    ["DELETE", "/api/v1/users/me", undefined],
    ["POST", "/organizations", { name: "Mine" }],
    ["PATCH", "/organizations/me/active", { organization_id: home.organization_id }],
    ["POST", "/organizations/invites/accept", { token: "x".repeat(32) }],
    ["POST", "/api/v1/users/me/keys", { name: "More", access: "read" }],
    ["GET", "/api/v1/users/me/keys", undefined],
  ] as const) {
    const answer = await world.call(method, path, { token, ...(body ? { body } : {}) });
    expect([path, answer.status, answer.body.detail]).toEqual([path, 403, "Only people can do this, not keys"]);
  }
});

test("a personal key has its person's rights, follows changes of these rights, and ends with the membership", async () => {
  const person = await world.person("keyed");
  const member = await world.join(person, home.organization_id, "member");
  const key = { token: (await createOwn(person, {})).body.key };
  const setAccess = (body: object) =>
    world.call("PUT", `/organizations/me/members/${member}/access`, { token: home.owner.token, body });
  expect((await list(key)).status).toBe(404);
  await setAccess({ board_access: [{ board_id: home.board_id, can_read: true }] });
  expect([(await list(key)).status, (await write(key)).status]).toEqual([200, 403]);
  await setAccess({ all_boards_write: true });
  expect((await write(key)).status).toBe(200);
  await setAccess({});
  expect((await list(key)).status).toBe(404);
  await world.call("DELETE", `/organizations/me/members/${member}`, { token: home.owner.token });
  expect((await list(key)).status).toBe(401);
});

test("a personal key is limited to its access and its boards", async () => {
  const admin = await world.member("cut", home, "admin", { write: true });
  const { board_id } = await addBoard(world, home, "Cut");
  const reader = { token: (await createOwn(admin, { access: "read", board_ids: [board_id] })).body.key };
  expect((await list(reader, `/api/v1/boards/${board_id}/tasks`)).status).toBe(200);
  expect((await list(reader)).status).toBe(404);
  expect((await write(reader, board_id)).status).toBe(403);
  expect((await list(reader, "/api/v1/keys")).status).toBe(403);
  const full = { token: (await createOwn(admin, { access: "admin" })).body.key };
  expect((await list(full, "/api/v1/keys")).status).toBe(200);
});

test("a personal key works in its organization only, whatever else its person may see", async () => {
  const person = await world.member("both", home, "member", { write: true });
  await world.join(person, abroad.organization_id, "member", { write: true });
  const key = { token: (await createOwn(person, {})).body.key };
  expect((await list(key, `/api/v1/boards/${abroad.board_id}/tasks`)).status).toBe(200);
  expect((await list(key)).status).toBe(404);
});

test("people see and revoke their own personal keys, admins see and revoke all of them, and only the person can rotate one", async () => {
  const person = await world.member("owner of a key", home, "member");
  const { id } = (await createOwn(person, {})).body;
  const items = (await list(person, "/api/v1/users/me/keys")).body.items;
  expect(items.map((item: { id: string }) => item.id)).toEqual([id]);
  expect((await world.call("GET", `/api/v1/keys/${id}`, { token: home.owner.token })).body.personal).toBe(true);
  const rotate = { token: home.owner.token, body: {} };
  expect((await world.call("POST", `/api/v1/keys/${id}/rotate`, rotate)).status).toBe(404);
  const other = await world.member("another", home, "member");
  expect((await world.call("DELETE", `/api/v1/users/me/keys/${id}`, { token: other.token })).status).toBe(404);
  expect((await world.call("POST", `/api/v1/users/me/keys/${id}/rotate`, { token: person.token, body: {} })).status).toBe(200);
  expect((await world.call("DELETE", `/api/v1/keys/${id}`, { token: home.owner.token })).status).toBe(200);
});

/** Returns how many rows the database has of a key, its tokens, and the user as which it acts. */
const countRows = async ({ id }: { id: string }) => [
  await world.db.$count(api_keys, eq(api_keys.id, id)),
  await world.db.$count(api_key_tokens, eq(api_key_tokens.key_id, id)),
  await world.db.$count(users, eq(users.id, id)),
];

test("an organization is removed with its keys", async () => {
  const tenant = await world.tenant("ending");
  const key = await keyOf({}, tenant);
  expect(await countRows(key)).toEqual([1, 1, 1]);
  expect((await world.call("DELETE", "/organizations/me", { token: tenant.owner.token })).status).toBe(200);
  expect((await list(key, "/api/v1/boards")).status).toBe(401);
  expect(await countRows(key)).toEqual([0, 0, 0]);
});

test("a person whose organizations have only keys left can delete the account, and the organizations and keys go with it", async () => {
  const tenant = await world.tenant("leaving");
  const own = (await createOwn(tenant.owner, {})).body;
  const keys = [await keyOf({}, tenant), { id: own.id as string, token: own.key as string }];
  for (const key of keys) expect((await list(key, "/api/v1/boards")).status).toBe(200);
  expect((await world.call("DELETE", "/api/v1/users/me", { token: tenant.owner.token })).status).toBe(200);
  for (const key of keys) {
    expect((await list(key, "/api/v1/boards")).status).toBe(401);
    expect(await countRows(key)).toEqual([0, 0, 0]);
  }
  expect(await world.db.$count(organizations, eq(organizations.id, tenant.organization_id))).toBe(0);
});

test("the MCP tools accept a key and apply its rights", async () => {
  const key = await keyOf({ access: "read" });
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "get_board", arguments: { board_id: home.board_id } },
  };
  const answer = await world.call("POST", "/mcp", { token: key.token, body });
  expect(answer.status).toBe(200);
  expect(answer.text).toContain(home.board_id);
});
