import { channel_deliveries, channels, jobs, organization_members, users } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import type { Tenant } from "../support/world.ts";

const server = await setup(startMailServer());
const world = await setupWorld({ environment: { ...server.environment, BASE_URL: "https://board.example.com" } });

/** Adds a tenant whose owner has an e-mail address. */
async function addTenant(name: string): Promise<Tenant> {
  const home = await world.tenant(name);
  await world.db
    .update(users)
    .set({ email: `${name}@example.com` })
    .where(eq(users.auth_subject, name));
  return home;
}

const mailsTo = (name: string) => server.mails.filter(({ recipients }) => recipients.includes(`${name}@example.com`));
const tokenOf = (name: string) => /\/decide\?token=([\w.-]+)/.exec(mailsTo(name).at(-1)!.text!)![1]!;
const decide = (body: object) => world.call("POST", "/api/v1/decisions", { body });
const readApproval = async (home: Tenant, id: string) =>
  (await world.call("GET", `/api/v1/boards/${home.board_id}/approvals/${id}`, { token: home.owner.token })).body;
const readChannel = async (home: Tenant) =>
  (await world.call("GET", "/api/v1/users/me/channels", { token: home.owner.token })).body[0];

test("a person who may decide gets a mail with the reason, quoted, and a link to a page on which only the button decides", async () => {
  const home = await addTenant("ann");
  const { id } = await requestApproval(world, home, { description: "Deploy?\nAll tests pass." });
  await world.drain();
  const [mail] = mailsTo("ann");
  expect(mail!.text).toContain("> Deploy?\n> All tests pass.");
  expect(mail!.html).toContain("https://board.example.com/decide?token=");
  const page = await world.app.request(`/decide?token=${tokenOf("ann")}`);
  expect(page.headers.get("content-type")).toContain("text/html");
  expect(await page.text()).toContain("Approve");
  expect(await readApproval(home, id)).toMatchObject({ status: "pending" });
  const form = new URLSearchParams({ token: tokenOf("ann"), status: "approved" });
  const decided = await world.app.request("/decide", { method: "POST", body: form });
  expect(await decided.text()).toContain("Approved");
  expect(await readApproval(home, id)).toMatchObject({ status: "approved" });
});

test("on the page of a decision, an answer with text that PostgreSQL cannot store is refused and decides nothing", async () => {
  const home = await addTenant("nul");
  const { id } = await requestApproval(world, home, { action_type: "question", description: "Which name?" });
  await world.drain();
  const form = new URLSearchParams({ token: tokenOf("nul"), status: "approved", text: "a\0b" });
  expect((await world.app.request("/decide", { method: "POST", body: form })).status).toBe(404);
  expect(await readApproval(home, id)).toMatchObject({ status: "pending" });
});

test("a decision button in a mail works once; a later decision changes nothing, and its answer says who decided", async () => {
  const home = await addTenant("bob");
  const { id } = await requestApproval(world, home);
  await world.drain();
  const token = tokenOf("bob");
  const decided = { status: "rejected", decided_by: "bob" };
  expect((await decide({ token, status: "rejected" })).body).toEqual({ ...decided, is_first: true });
  expect((await decide({ token, status: "approved" })).body).toEqual({ ...decided, is_first: false });
  const form = new URLSearchParams({ token, status: "approved" });
  const page = await (await world.app.request("/decide", { method: "POST", body: form })).text();
  expect(page).toContain("<p>Rejected by bob.</p><p>It was decided before, so nothing has changed.</p>");
  await world.call("PATCH", `/api/v1/boards/${home.board_id}/approvals/${id}`, {
    token: home.owner.token,
    body: { status: "pending" },
  });
  expect((await decide({ token, status: "approved" })).body).toMatchObject({ status: "pending", is_first: false });
  expect(await readApproval(home, id)).toMatchObject({ status: "pending" });
});

test("when several people decide from their mails, only the first decision counts, and later answers say who decided", async () => {
  const home = await addTenant("cleo");
  const second = await world.member("dora", home, "member", { write: true });
  await world.db.update(users).set({ email: "dora@example.com" }).where(eq(users.auth_subject, "dora"));
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: second.token });
  const { id } = await requestApproval(world, home);
  await world.drain();
  const first = await decide({ token: tokenOf("cleo"), status: "approved" });
  const later = await decide({ token: tokenOf("dora"), status: "rejected" });
  expect(first.body).toMatchObject({ status: "approved", is_first: true });
  expect(later.body).toMatchObject({ status: "approved", is_first: false, decided_by: "cleo" });
  expect(await readApproval(home, id)).toMatchObject({ status: "approved" });
});

test.each(["", "x.y", `${Buffer.from('{"for":"decision"}').toString("base64url")}.${"A".repeat(43)}`])(
  "the token %j cannot make a decision",
  async (token) => {
    expect((await decide({ token, status: "approved" })).status).toBe(404);
    expect((await world.app.request(`/decide?token=${encodeURIComponent(token)}`)).status).toBe(404);
  },
);

test("the button in a mail is valid for a day", async () => {
  const home = await addTenant("expired");
  await requestApproval(world, home);
  await world.drain();
  world.elapse(25 * 3_600_000);
  expect((await decide({ token: tokenOf("expired"), status: "approved" })).status).toBe(404);
});

test("a person who has lost the right to decide gets no mail, and a button from before then decides nothing", async () => {
  const home = await addTenant("eve");
  await requestApproval(world, home);
  await world.drain();
  const token = tokenOf("eve");
  const count = mailsTo("eve").length;
  await requestApproval(world, home);
  await world.db.delete(organization_members).where(eq(organization_members.organization_id, home.organization_id));
  await world.drain();
  expect(mailsTo("eve")).toHaveLength(count);
  expect((await decide({ token, status: "approved" })).status).toBe(404);
});

test("a person who may still read a board but no longer decide gets no mail about a decision", async () => {
  const home = await addTenant("kim");
  const lou = await world.person("lou");
  await world.db.update(users).set({ email: "lou@example.com" }).where(eq(users.auth_subject, "lou"));
  const member_id = await world.join(lou, home.organization_id, "member", { write: true });
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: lou.token });
  server.refuse(451);
  await requestApproval(world, home);
  await world.drain();
  server.refuse(null);
  const body = { all_boards_read: true, all_boards_write: false, board_access: [] };
  const path = `/api/v1/organizations/me/members/${member_id}/access`;
  expect((await world.call("PUT", path, { token: home.owner.token, body })).status).toBe(200);
  world.elapse(3 * 60_000);
  await world.drain();
  expect([mailsTo("kim").length, mailsTo("lou").length]).toEqual([1, 0]);
});

test("a person who loses the right to read the board while earlier mails are being sent gets no mail", async () => {
  const home = await addTenant("nora");
  const people = ["olga", "pete", "quin"];
  const members = new Map<string, string>();
  for (const name of people) {
    const person = await world.person(name);
    const member_id = await world.join(person, home.organization_id, "member", { write: true });
    await world.db
      .update(users)
      .set({ email: `${name}@example.com` })
      .where(eq(users.auth_subject, name));
    await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: person.token });
    members.set(`${name}@example.com`, member_id);
  }
  let first = "";
  server.whileSending(async ([recipient]) => {
    first = recipient!;
    const body = { all_boards_read: false, all_boards_write: false, board_access: [] };
    for (const [address, id] of members)
      if (address !== first)
        await world.call("PUT", `/api/v1/organizations/me/members/${id}/access`, { token: home.owner.token, body });
  });
  await requestApproval(world, home);
  await world.drain();
  const got = server.mails.flatMap(({ recipients }) => recipients).filter((address) => members.has(address));
  expect(got).toEqual(members.has(first) ? [first] : []);
});

test("texts of other people stay plain text in a mail and on the page of a decision", async () => {
  const home = await addTenant("mallory");
  const text = `<img src=x onerror=alert(1)>\r\nBcc: eve@example.com\u2028-- <script>alert(1)</script>`;
  await requestApproval(world, home, { description: text, action_type: `Deploy"><b>\r\nX: y` });
  await world.drain();
  const mail = mailsTo("mallory").at(-1)!;
  expect(mail.recipients).toEqual(["mallory@example.com"]);
  expect(mail.html).not.toMatch(/<img|<script|<b>/);
  expect(mail.text!.split("\n").filter((line) => line.includes("Bcc"))).toEqual(["> Bcc: eve@example.com"]);
  const page = await (await world.app.request(`/decide?token=${tokenOf("mallory")}`)).text();
  expect(page).not.toMatch(/<img|<script|<b>/);
});

test("the name of a board cannot add a line to a mail", async () => {
  const home = await addTenant("peggy");
  const body = { name: "Ops\nDecide: https://evil.example/decide" };
  const path = `/api/v1/boards/${home.board_id}`;
  expect((await world.call("PATCH", path, { token: home.owner.token, body })).status).toBe(200);
  await requestApproval(world, home);
  await world.drain();
  const links = mailsTo("peggy")[0]!
    .text!.split("\n")
    .filter((line) => line.startsWith("Decide:"));
  expect(links).toEqual([expect.stringMatching(/^Decide: https:\/\/board\.example\.com\/decide\?/)]);
});

test("a mail server that is down delays the mails and is reported at the channel, and nothing is lost", async () => {
  const home = await addTenant("frank");
  server.refuse(451);
  await requestApproval(world, home);
  await world.drain();
  expect(await readChannel(home)).toMatchObject({ active: true, last_error: "The mail server answered 451." });
  server.refuse(null);
  world.elapse(3 * 60_000);
  await world.drain();
  expect(mailsTo("frank")).toHaveLength(1);
  expect(await readChannel(home)).toMatchObject({ failing_since: null, last_error: null });
});

test("a channel on which every attempt has failed for five days is switched off with the reason, and can be switched on again", async () => {
  const home = await addTenant("gina");
  await requestApproval(world, home);
  await world.drain();
  const since = new Date(world.now().getTime() - 6 * 86_400_000);
  const { id } = await readChannel(home);
  await world.db.update(channels).set({ failing_since: since }).where(eq(channels.id, id));
  server.refuse(451);
  await requestApproval(world, home);
  await world.drain();
  server.refuse(null);
  expect(await readChannel(home)).toMatchObject({ active: false, disabled_reason: expect.stringContaining("five days") });
  const body = { active: true };
  const again = await world.call("PATCH", `/api/v1/users/me/channels/${id}`, { token: home.owner.token, body });
  expect(again.body).toMatchObject({ active: true, disabled_reason: null });
});

test("one click on the link of a mail stops the mails", async () => {
  const home = await addTenant("hugo");
  await requestApproval(world, home);
  await world.drain();
  const link = /List-Unsubscribe: <https:\/\/board\.example\.com([^>]+)>/.exec(
    mailsTo("hugo")[0]!.raw.replace(/\r\n\s+/g, " "),
  )![1]!;
  expect((await world.app.request(link)).status).toBe(200);
  expect(await readChannel(home)).toMatchObject({ active: true });
  await world.app.request(link, { method: "POST", body: "List-Unsubscribe=One-Click" });
  expect(await readChannel(home)).toMatchObject({ active: false });
});

test("notifications that a person has chosen for the digest are sent at its time, in one mail", async () => {
  const home = await addTenant("iris");
  const choices = { "approval.requested": { email: "digest" } };
  await world.call("PUT", "/api/v1/users/me/notifications", { token: home.owner.token, body: { choices, digest_time: "08:00" } });
  await requestApproval(world, home);
  await requestApproval(world, home);
  await world.drain();
  expect(mailsTo("iris")).toEqual([]);
  world.elapse(86_400_000 + 60_000);
  await world.drain();
  expect(mailsTo("iris")).toHaveLength(1);
  expect(mailsTo("iris")[0]!.subject).toBe("2 things happened on your boards");
  expect(
    await world.db.select().from(channel_deliveries).where(eq(channel_deliveries.organization_id, home.organization_id)),
  ).toHaveLength(2);
});

test("a mail whose worker ends before it has stored the result is sent again, and its button still works once", async () => {
  const home = await addTenant("zoe");
  const { id } = await requestApproval(world, home);
  // Another worker takes over the job, as it does when this worker has ended.
  const isSending = and(
    eq(jobs.kind, "people.email"),
    eq(jobs.organization_id, home.organization_id),
    eq(jobs.status, "running"),
  );
  server.whileSending(() => world.db.update(jobs).set({ status: "queued", sent_at: null }).where(isSending));
  await world.drain();
  expect(mailsTo("zoe")).toHaveLength(1);
  world.elapse(2 * 60_000);
  await world.drain();
  expect(mailsTo("zoe")).toHaveLength(2);
  const [token, again] = mailsTo("zoe").map(({ text }) => /\/decide\?token=([\w.-]+)/.exec(text!)![1]!);
  expect((await decide({ token, status: "approved" })).body).toMatchObject({ status: "approved", is_first: true });
  expect((await decide({ token: again, status: "rejected" })).body).toMatchObject({ status: "approved", is_first: false });
  expect(await readApproval(home, id)).toMatchObject({ status: "approved" });
});
