import { organization_members, user_notifications, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import type { Person } from "../support/world.ts";

const world = await setupWorld();

const inboxOf = async ({ token }: Person, query = "") =>
  (await world.call("GET", `/api/v1/users/me/inbox${query}`, { token })).body;
const titlesOf = async (person: Person) => (await inboxOf(person)).items.map(({ title }: { title: string }) => title);
const call = async (method: string, path: string, who: object, body?: object) => {
  const answer = await world.call(method, path, { ...who, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};

test("the creator of a board is notified of an approval with its reason, and can mark the notification as read", async () => {
  const home = await world.tenant("maker");
  await requestApproval(world, home, { description: "Deploy to production?" });
  await world.drain();
  const { items, unread, next_cursor } = await inboxOf(home.owner);
  expect(items).toMatchObject([
    { type: "approval.requested", board_id: home.board_id, text: "Deploy to production?", status: "pending", read_at: null },
  ]);
  expect({ unread, next_cursor }).toEqual({ unread: 1, next_cursor: null });
  await call("POST", "/api/v1/users/me/inbox/read", { token: home.owner.token }, { ids: [items[0].id] });
  expect(await inboxOf(home.owner)).toMatchObject({ unread: 0, items: [{ read_at: expect.any(String) }] });
  expect((await inboxOf(home.owner, "?unread=true")).items).toEqual([]);
});

test("the followers of a board who may write to it are notified of an approval, instead of the board's creator", async () => {
  const home = await world.tenant("watched");
  const follow = `/api/v1/boards/${home.board_id}/follow`;
  const writer = await world.member("watched-writer", home, "member", { write: true });
  const reader = await world.member("watched-reader", home, "member", { read: true });
  for (const person of [writer, reader]) await call("PUT", follow, { token: person.token });
  expect(await call("DELETE", follow, { token: home.owner.token })).toEqual({ following: false });
  await requestApproval(world, home);
  await world.drain();
  expect([await titlesOf(writer), await titlesOf(reader), await titlesOf(home.owner)].map((titles) => titles.length)).toEqual([
    1, 0, 0,
  ]);
});

test("admins are notified of an approval if nobody else may decide", async () => {
  const home = await world.tenant("left");
  const admin = await world.member("left-admin", home, "admin", { write: true });
  const body = { action_type: "Deploy", description: "Ready" };
  await call("POST", `/api/v1/boards/${home.board_id}/approvals`, { token: home.owner.token }, body);
  await world.drain();
  expect(await titlesOf(admin)).toHaveLength(1);
  expect(await titlesOf(home.owner)).toEqual([]);
});

test("the creator and the commenters of a task are notified when it is submitted, unless they stopped following it", async () => {
  const home = await world.tenant("submitted");
  const member = await world.member("commenter", home, "member", { write: true });
  const path = `/api/v1/boards/${home.board_id}/tasks`;
  const task = await call("POST", path, { token: home.owner.token }, { title: "Paint the fence" });
  await call("DELETE", `/api/v1/boards/${home.board_id}/follow`, { token: home.owner.token });
  expect(await call("GET", `${path}/${task.id}/follow`, { token: member.token })).toEqual({ following: false });
  await call("POST", `${path}/${task.id}/comments`, { token: member.token }, { content: "Green, please." });
  expect(await call("GET", `${path}/${task.id}/follow`, { token: member.token })).toEqual({ following: true });
  await call("DELETE", `${path}/${task.id}/follow`, { token: home.owner.token });
  await call("PATCH", `${path}/${task.id}`, { agent: home.lead.token }, { assigned_agent_id: home.worker.id });
  await call("PATCH", `${path}/${task.id}`, { agent: home.worker.token }, { status: "in_progress" });
  await call("PATCH", `${path}/${task.id}`, { agent: home.worker.token }, { status: "review", comment: "Done." });
  await world.drain();
  expect(await titlesOf(member)).toEqual(["Ready for review: Paint the fence"]);
  expect(await titlesOf(home.owner)).toEqual([]);
});

test("a comment that names a person reaches only that person, with the text of the comment", async () => {
  const home = await world.tenant("mentions");
  const ada = await world.person("ada", { name: "Ada Lovelace" });
  await world.join(ada, home.organization_id, "member", { read: true });
  const { id: task_id } = await addTask(world, home);
  const content = "@ada, what do you think? @worker knows.";
  await call("POST", `/api/v1/boards/${home.board_id}/tasks/${task_id}/comments`, { agent: home.lead.token }, { content });
  await world.drain();
  expect(await inboxOf(ada)).toMatchObject({ items: [{ type: "mention", text: content, task_id, actor: { name: "Lead" } }] });
  expect((await titlesOf(home.owner)).filter((title: string) => title.includes("mentions"))).toEqual([]);
});

test.each([
  ["chat message", ["chat"]],
  ["note", ["decision"]],
])("a %s that names a person in the memory of a board reaches only that person", async (name, tags) => {
  const home = await world.tenant(`memory ${name}`);
  const grace = await world.person(`grace ${name}`, { name: "Grace" });
  await world.join(grace, home.organization_id, "member", { read: true });
  const path = `/api/v1/boards/${home.board_id}/memory`;
  await call("POST", path, { agent: home.lead.token }, { content: "@grace look, @worker knows", tags });
  await world.drain();
  expect(await titlesOf(grace)).toEqual([`Lead mentions you in the chat or memory of memory ${name} board`]);
  expect(await titlesOf(home.owner)).toEqual([]);
});

test.each(["chat", "decision"])(
  "a mention with the tag %s in the memory of a group reaches only people who may read the group, and only while they may",
  async (tag) => {
    const home = await world.tenant(`grouped ${tag}`);
    const { token } = home.owner;
    const group = await call("POST", "/api/v1/board-groups", { token }, { name: "Ships" });
    await call("PATCH", `/api/v1/boards/${home.board_id}`, { token }, { board_group_id: group.id });
    const ines = await world.person(`ines ${tag}`, { name: "Ines" });
    const member_id = await world.join(ines, home.organization_id, "member", { read: true });
    const otto = await world.person(`otto ${tag}`, { name: "Otto" });
    await world.join(otto, home.organization_id, "member");
    const entry = { content: "@ines @otto look", tags: [tag] };
    await call("POST", `/api/v1/board-groups/${group.id}/memory`, { token }, entry);
    await world.drain();
    expect([await titlesOf(ines), await titlesOf(otto)].map((titles) => titles.length)).toEqual([1, 0]);
    const access = { all_boards_read: false, all_boards_write: false, board_access: [] };
    await call("PUT", `/api/v1/organizations/me/members/${member_id}/access`, { token }, access);
    expect(await inboxOf(ines)).toMatchObject({ items: [], unread: 0 });
  },
);

test("a person who may no longer read a board is no longer notified about it, and no longer sees earlier notifications about it", async () => {
  const home = await world.tenant("revoked");
  const member = await world.member("revoked-member", home, "member", { write: true });
  const follow = `/api/v1/boards/${home.board_id}/follow`;
  await call("PUT", follow, { token: member.token });
  await requestApproval(world, home);
  await world.drain();
  expect(await titlesOf(member)).toHaveLength(1);
  await requestApproval(world, home);
  const members = await call("GET", "/api/v1/organizations/me/members", { token: home.owner.token });
  const { id } = members.items.find(({ role }: { role: string }) => role === "member");
  const access = { all_boards_read: false, all_boards_write: false, board_access: [] };
  await call("PUT", `/api/v1/organizations/me/members/${id}/access`, { token: home.owner.token }, access);
  await world.drain();
  expect(await inboxOf(member)).toMatchObject({ items: [], unread: 0 });
});

test("an admin who has lost the role no longer sees notifications that are only for admins", async () => {
  const home = await world.tenant("demoted");
  const admin = await world.member("demoted-admin", home, "admin");
  const [person] = await world.db.select().from(users).where(eq(users.auth_subject, admin.subject));
  const user_id = person!.id;
  const { organization_id, gateway_id } = home;
  const about = { organization_id, user_id, type: "gateway.down", subject_id: gateway_id, actor_type: "system" } as const;
  await world.db.insert(user_notifications).values({ ...about, key: "down" });
  expect(await inboxOf(admin)).toMatchObject({ unread: 1, items: [{ type: "gateway.down" }] });
  const demoted = { role: "member" } as const;
  await world.db.update(organization_members).set(demoted).where(eq(organization_members.user_id, user_id));
  expect(await inboxOf(admin)).toMatchObject({ unread: 0, items: [] });
});

test("nobody is notified of an approval that was decided before its notifications were sent", async () => {
  const home = await world.tenant("quick");
  const approval = await requestApproval(world, home);
  const path = `/api/v1/boards/${home.board_id}/approvals/${approval.id}`;
  await call("PATCH", path, { token: home.owner.token }, { status: "approved" });
  await world.drain();
  expect(await titlesOf(home.owner)).toEqual([]);
});

test("people choose by type and channel how they are notified, and other choices stay as they were", async () => {
  const { token } = await world.person("chooser");
  const path = "/api/v1/users/me/notifications";
  const defaults = await call("GET", path, { token });
  expect(defaults.choices["approval.requested"]).toEqual({ email: "now", push: "now", slack: "now" });
  expect(defaults.choices.mention.email).toBe("digest");
  await call("PUT", path, { token }, { choices: { mention: { email: "now" } }, time_zone: "Europe/Berlin" });
  const quiet_hours = { from: "22:00", until: "07:00" };
  const changed = await call("PUT", path, { token }, { quiet_hours, choices: { mention: { push: "off" } } });
  expect(changed).toMatchObject({ quiet_hours, time_zone: "Europe/Berlin", digest_time: "08:00" });
  expect(changed.choices.mention).toEqual({ email: "now", push: "off", slack: "digest" });
  expect(await call("GET", path, { token })).toEqual(changed);
});

test("preferences that are changed at the same time are all kept", async () => {
  const { token } = await world.person("quick");
  const path = "/api/v1/users/me/notifications";
  const types = ["mention", "task.submitted", "task.blocked", "run.failed"];
  await Promise.all(types.map((type) => call("PUT", path, { token }, { choices: { [type]: { email: "off" } } })));
  const { choices } = await call("GET", path, { token });
  expect(types.map((type) => choices[type].email)).toEqual(types.map(() => "off"));
});

test.each([{ time_zone: "Mars/Olympus" }, { digest_time: "25:00" }, { choices: { mention: { email: "later" } } }])(
  "the preference %j is refused",
  async (body) => {
    const { token } = await world.person("refused");
    expect((await world.call("PUT", "/api/v1/users/me/notifications", { token, body })).status).toBe(422);
  },
);
