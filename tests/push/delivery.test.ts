import { createPublicKey } from "node:crypto";
import { channel_deliveries, channels, organization_members } from "@board/core/schema/all-tables";
import { and, eq, sql } from "drizzle-orm";
import { importJWK, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import type { Tenant } from "../support/world.ts";
import { PUSH, setupPush } from "./push-fixture.ts";

const { world, service, listChannels, addBrowser, ask, decide } = await setupPush();

const readApproval = async (home: Tenant, id: string) =>
  (await world.call("GET", `/api/v1/boards/${home.board_id}/approvals/${id}`, { token: home.owner.token })).body;

test("a person who may decide gets a message in each browser, encrypted for that browser, with buttons that decide once", async () => {
  const home = await world.tenant("ann");
  const [one, other] = [await addBrowser(home.owner), await addBrowser(home.owner, "Safari on the phone")];
  const { id } = await ask(home, { description: "All tests pass." });
  const [received] = service.messagesOf(one);
  expect(service.messagesOf(other)).toHaveLength(1);
  const { title, body, url, decision, tag } = received!.message;
  expect([title, tag]).toEqual([expect.stringContaining("asks for approval: Deploy"), id]);
  expect(body).toContain("All tests pass.");
  expect(url).toBe(`/decide?token=${decision.token}`);
  expect(decision.buttons).toEqual([
    { title: "Approve", status: "approved" },
    { title: "Reject", status: "rejected" },
  ]);
  expect(received!.headers).toMatchObject({ urgency: "high", ttl: "86400", "content-encoding": "aes128gcm" });
  expect((await world.app.request(url)).status).toBe(200);
  expect(await readApproval(home, id)).toMatchObject({ status: "pending" });
  expect((await decide({ token: decision.token, status: "approved" })).body).toMatchObject({
    status: "approved",
    is_first: true,
  });
  const later = await decide({ token: service.messagesOf(other)[0]!.message.decision.token, status: "rejected" });
  expect(later.body).toMatchObject({ status: "approved", is_first: false });
});

test("a message is signed for its push service with the key that browsers get", async () => {
  const home = await world.tenant("ben");
  const browser = await addBrowser(home.owner);
  await ask(home);
  const { public_key } = (await world.call("GET", PUSH, { token: home.owner.token })).body;
  const [, token, key] = /^vapid t=([^,]+), k=(.+)$/.exec(service.messagesOf(browser)[0]!.headers.authorization!)!;
  expect(key).toBe(public_key);
  const point = Buffer.from(public_key, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const jwk = { kty: "EC", crv: "P-256", x: x!, y: y! };
  expect(createPublicKey({ key: jwk, format: "jwk" }).asymmetricKeyType).toBe("ec");
  const { payload } = await jwtVerify(token!, await importJWK(jwk, "ES256"), { currentDate: world.now() });
  expect(payload).toMatchObject({ aud: service.origin, sub: "https://board.example.com" });
  expect(payload.exp! - world.now().getTime() / 1000).toBeLessThanOrEqual(24 * 3_600);
});

test("a question with two options has them as buttons, and the answer reaches the agent's approval", async () => {
  const home = await world.tenant("carla");
  const browser = await addBrowser(home.owner);
  const question = (options: string[]) =>
    ask(home, { action_type: "question", text: "Which colour?", options, description: undefined });
  const { id } = await question(["Red", "Blue"]);
  const { decision } = service.messagesOf(browser).at(-1)!.message;
  expect(decision.buttons).toEqual([
    { title: "Red", status: "approved", option: "Red" },
    { title: "Blue", status: "approved", option: "Blue" },
  ]);
  const answer = { option: "Blue" };
  expect((await decide({ token: decision.token, status: "approved", answer })).body).toMatchObject({ is_first: true });
  expect((await readApproval(home, id)).payload.answer).toMatchObject({ option: "Blue" });
  await question(["Red", "Blue", "Green"]);
  expect(service.messagesOf(browser).at(-1)!.message.decision.buttons).toEqual([]);
});

test.each([404, 410])("a browser that has ended its subscription (%i) is removed", async (status) => {
  const home = await world.tenant(`gone-${status}`);
  const browser = await addBrowser(home.owner);
  const other = await addBrowser(home.owner);
  service.answer(browser, status);
  await ask(home);
  expect((await listChannels(home.owner)).map(({ id }: { id: string }) => id)).toEqual([other.id]);
  expect(service.messagesOf(other)).toHaveLength(1);
});

test("a push service that is busy is asked again at the time that it names, and other browsers do not wait", async () => {
  const home = await world.tenant("dora");
  const [busy, free] = [await addBrowser(home.owner), await addBrowser(home.owner)];
  service.answer(busy, 429, { "retry-after": "600" });
  await ask(home);
  await ask(home);
  expect([service.requestsTo(busy), service.messagesOf(free).length]).toEqual([1, 2]);
  expect(await listChannels(home.owner)).toContainEqual(
    expect.objectContaining({ id: busy.id, active: true, last_error: "The push service answered 429." }),
  );
  service.answer(busy, null);
  world.elapse(5 * 60_000);
  await world.drain();
  expect(service.requestsTo(busy)).toBe(1);
  world.elapse(7 * 60_000);
  await world.drain();
  expect(service.messagesOf(busy)).toHaveLength(2);
  expect((await listChannels(home.owner)).every(({ last_error }: { last_error: string | null }) => last_error === null)).toBe(
    true,
  );
});

test("a refused message is not sent again", async () => {
  const home = await world.tenant("emil");
  const browser = await addBrowser(home.owner);
  service.answer(browser, 413);
  await ask(home);
  world.elapse(3 * 3_600_000);
  await world.drain();
  expect(service.requestsTo(browser)).toBe(1);
  const rows = await world.db.select().from(channel_deliveries).where(eq(channel_deliveries.channel_id, browser.id));
  expect(rows).toMatchObject([{ status: "failed", attempts: 1, last_error: "The push service answered 413." }]);
});

test("many notifications cost few requests to a browser that does not answer, and another person gets a message at once", async () => {
  const home = await world.tenant("fay");
  const mate = await world.member("mate", home, "member", { write: true });
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: mate.token });
  const [dead, live] = [await addBrowser(home.owner), await addBrowser(mate)];
  service.answer(dead, 503);
  for (let round = 0; round < 70; round++) await requestApproval(world, home);
  await world.drain();
  expect(service.requestsTo(dead)).toBeLessThan(5);
  const before = service.messagesOf(live).length;
  await ask(home);
  expect(service.messagesOf(live).length).toBe(before + 1);
  service.answer(dead, null);
  world.elapse(10 * 60_000);
  await world.drain();
  const pending = and(eq(channel_deliveries.channel_id, dead.id), eq(channel_deliveries.status, "pending"));
  expect(await world.db.select().from(channel_deliveries).where(pending)).toEqual([]);
  expect(service.messagesOf(dead).length).toBeLessThan(5);
  expect(service.messagesOf(dead)[0]!.message.title).toMatch(/^\d+ things happened on your boards$/);
});

test("ten thousand notifications that wait for a dead browser cost one request, and delay no message to others", async () => {
  const home = await world.tenant("kim");
  const mate = await world.member("lou", home, "member", { write: true });
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: mate.token });
  const [dead, live] = [await addBrowser(home.owner), await addBrowser(mate)];
  await ask(home);
  service.answer(dead, 503);
  await world.db.execute(sql`
    with sent as (select n.* from user_notifications n join channels c on c.user_id = n.user_id where c.id = ${dead.id} limit 1),
    made as (insert into user_notifications (user_id, organization_id, board_id, type, subject_id, actor_type, actor_id, key)
      select user_id, organization_id, board_id, type, subject_id, actor_type, actor_id, 'waiting ' || n
      from sent, generate_series(1, 10000) n returning id, organization_id)
    insert into channel_deliveries (organization_id, channel_id, notification_id, type, status, is_digest, due_at, attempts)
    select organization_id, ${dead.id}, id, 'push', 'pending', false, ${world.now().toISOString()}::timestamptz, 0 from made`);
  const before = [service.requestsTo(dead), service.messagesOf(live).length];
  await ask(home);
  expect([service.requestsTo(dead), service.messagesOf(live).length]).toEqual([before[0]! + 1, before[1]! + 1]);
});

test("a browser for which every attempt has failed for five days is switched off with the reason, and its waiting messages are dropped", async () => {
  const home = await world.tenant("gus");
  const browser = await addBrowser(home.owner);
  service.answer(browser, 503);
  await ask(home);
  const failing_since = new Date(world.now().getTime() - 6 * 86_400_000);
  await world.db.update(channels).set({ failing_since, retry_at: null }).where(eq(channels.id, browser.id));
  await ask(home);
  expect(await listChannels(home.owner)).toMatchObject([
    { active: false, disabled_reason: expect.stringContaining("five days") },
  ]);
  world.elapse(3 * 60_000);
  await world.drain();
  const rows = await world.db.select().from(channel_deliveries).where(eq(channel_deliveries.channel_id, browser.id));
  expect(rows.map(({ status }) => status)).toEqual(["dropped", "dropped"]);
});

test("a person who was removed from the organization gets no message, not even one that was waiting to be sent", async () => {
  const home = await world.tenant("hana");
  const browser = await addBrowser(home.owner);
  await requestApproval(world, home);
  await world.db.delete(organization_members).where(eq(organization_members.organization_id, home.organization_id));
  await world.drain();
  expect(service.requestsTo(browser)).toBe(0);
});

test("a message that waited is not sent once its approval is decided", async () => {
  const home = await world.tenant("ivo");
  const browser = await addBrowser(home.owner);
  service.answer(browser, 503);
  const { id } = await ask(home);
  service.answer(browser, null);
  const path = `/api/v1/boards/${home.board_id}/approvals/${id}`;
  await world.call("PATCH", path, { token: home.owner.token, body: { status: "approved" } });
  world.elapse(3 * 60_000);
  await world.drain();
  expect(service.messagesOf(browser)).toEqual([]);
});

test("notifications chosen for the digest are one message, and quiet hours delay notifications chosen to be sent at once", async () => {
  const home = await world.tenant("jo");
  const browser = await addBrowser(home.owner);
  const put = (body: object) => world.call("PUT", "/api/v1/users/me/notifications", { token: home.owner.token, body });
  await put({ choices: { "approval.requested": { push: "digest" } }, digest_time: "08:00" });
  await ask(home);
  await ask(home);
  await ask(home);
  await ask(home);
  expect(service.messagesOf(browser)).toEqual([]);
  world.elapse(86_400_000 + 60_000);
  await world.drain();
  expect(service.messagesOf(browser).map(({ message }) => message.title)).toEqual(["4 things happened on your boards"]);
  await put({ choices: { "approval.requested": { push: "now" } }, quiet_hours: { from: "00:00", until: "23:59" } });
  await ask(home);
  expect(service.messagesOf(browser)).toHaveLength(1);
  await put({ choices: { "approval.requested": { push: "off" } }, quiet_hours: null });
  await ask(home);
  expect(service.messagesOf(browser)).toHaveLength(1);
});

test("long texts of other people are cut to fit a push message, and the message's only secret is the token of its buttons", async () => {
  const home = await world.tenant("kai");
  const browser = await addBrowser(home.owner);
  await ask(home, { action_type: "\u{1F680}".repeat(40), description: "\u0007\u{1F4A5}".repeat(4_000) });
  const [received] = service.messagesOf(browser);
  const { size, message } = received!;
  expect(size).toBeLessThanOrEqual(4_096);
  expect(Object.keys(message as object).toSorted()).toEqual(["body", "decision", "tag", "title", "url"]);
});

test("an address that was encrypted with another key is reported at its channel, and other browsers are not affected", async () => {
  const home = await world.tenant("rex");
  const [lost, kept] = [await addBrowser(home.owner), await addBrowser(home.owner)];
  await world.db
    .update(channels)
    .set({ address_sealed: Buffer.alloc(40) })
    .where(eq(channels.id, lost.id));
  await ask(home);
  expect(service.messagesOf(kept)).toHaveLength(1);
  expect(await listChannels(home.owner)).toContainEqual(
    expect.objectContaining({ id: lost.id, last_error: expect.stringContaining("ENCRYPTION_KEY") }),
  );
});
