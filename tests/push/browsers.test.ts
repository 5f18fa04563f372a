import { channels, service_keys, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { createWorld } from "../support/world.ts";
import { CHANNELS, PUSH, setupPush } from "./push-fixture.ts";

const { world, service, post, listChannels, addBrowser, ask } = await setupPush();

test("the key for web push is created once, even if two people request it at the same time, and is stored encrypted", async () => {
  const people = [await world.person("key-1"), await world.person("key-2")];
  const answers = await Promise.all(people.map(({ token }) => world.call("GET", PUSH, { token })));
  const keys = new Set(answers.map(({ body }) => body.public_key));
  expect(keys.size).toBe(1);
  const [stored] = await world.db.select().from(service_keys).where(eq(service_keys.name, "web-push"));
  expect(stored!.value_sealed.length).toBeGreaterThan(32);
});

test("the same browser is always one channel, which is taken over when another person signs in there", async () => {
  const [first, second] = [await world.tenant("lea"), await world.tenant("max")];
  const subscription = service.subscribe();
  const made = await post(first.owner, { name: "Shared", ...subscription });
  const again = await post(first.owner, { name: "Renamed", ...subscription });
  expect(again.body).toMatchObject({ id: made.body.id, name: "Renamed", type: "push" });
  await requestApproval(world, first);
  expect((await post(second.owner, { name: "Shared", ...subscription })).status).toBe(200);
  await world.drain();
  expect(service.messagesOf(subscription)).toEqual([]);
  expect(await listChannels(first.owner)).toEqual([]);
  await ask(second);
  expect(service.messagesOf(subscription)).toHaveLength(1);
});

test("a person has at most twenty browsers", async () => {
  const nina = await world.person("nina");
  for (let n = 0; n < 20; n++) await addBrowser(nina);
  const refused = await post(nina, { name: "One more", ...service.subscribe() });
  expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining("20 channels")]);
});

test("a removed browser gets nothing, not even what was waiting for it", async () => {
  const home = await world.tenant("olga");
  const browser = await addBrowser(home.owner);
  await requestApproval(world, home);
  const removed = await world.call("DELETE", `${CHANNELS}/${browser.id}`, { token: home.owner.token });
  expect(removed.body).toEqual({ ok: true });
  await world.drain();
  expect([service.requestsTo(browser), await listChannels(home.owner)]).toEqual([0, []]);
});

test("an e-mail channel cannot be removed, because it follows the address of the profile", async () => {
  const { owner } = await world.tenant("paul");
  const [user] = await world.db.select().from(users).where(eq(users.auth_subject, "paul"));
  const [row] = await world.db.insert(channels).values({ user_id: user!.id, type: "email" }).returning();
  const answer = await world.call("DELETE", `${CHANNELS}/${row!.id}`, { token: owner.token });
  expect([answer.status, answer.body.detail]).toEqual([409, expect.stringContaining("Switch it off")]);
});

test("a test message arrives at once, or the answer says why it did not", async () => {
  const { owner } = await world.tenant("quinn");
  const browser = await addBrowser(owner);
  const send = () => world.call("POST", `${CHANNELS}/${browser.id}/test`, { token: owner.token });
  expect((await send()).body).toEqual({ ok: true, error: null });
  expect(service.messagesOf(browser)[0]!.message).toMatchObject({ title: "This is a test", url: "/#/inbox/notifications" });
  service.answer(browser, 500);
  expect((await send()).body).toEqual({ ok: false, error: "The push service answered 500." });
  service.answer(browser, 410);
  expect((await send()).body).toEqual({ ok: false, error: "The browser has ended its subscription." });
});

test("a person can send a limited number of test messages in a minute", async () => {
  const started = new Date();
  const strict = await createWorld({ clock: () => started, limits: { channel_tests_per_minute: 1 } });
  try {
    const { token } = await strict.person("rita");
    const made = await strict.call("POST", PUSH, { token, body: { name: "Browser", ...service.subscribe() } });
    const path = `${CHANNELS}/${made.body.id}/test`;
    expect((await strict.call("POST", path, { token })).status).toBe(200);
    expect((await strict.call("POST", path, { token })).status).toBe(429);
  } finally {
    await strict.close();
  }
});

const { keys } = service.subscribe();
const bad = (text: string) => Buffer.from(text).toString("base64url");

test.each([
  ["an address inside the network", { endpoint: "https://10.0.0.1/push", keys }],
  ["an address of the cloud's metadata", { endpoint: "https://169.254.169.254/latest", keys }],
  ["another scheme", { endpoint: "file:///etc/passwd", keys }],
  ["credentials in the address", { endpoint: "https://user:secret@push.example.com/", keys }],
  ["a key that is too short", { endpoint: "https://push.example.com/", keys: { ...keys, p256dh: "AAAA" } }],
  [
    "a key that is not on the curve",
    { endpoint: "https://push.example.com/", keys: { ...keys, p256dh: bad("\u0004".repeat(65)) } },
  ],
  ["a secret that is too long", { endpoint: "https://push.example.com/", keys: { ...keys, auth: bad("x".repeat(17)) } }],
  ["an empty name", { endpoint: "https://push.example.com/", keys, name: " " }],
])("a subscription with %s is refused", async (_what, body) => {
  const sam = await world.person("sam");
  expect((await post(sam, { name: "Browser", ...body })).status).toBe(422);
  expect(await listChannels(sam)).toEqual([]);
});
