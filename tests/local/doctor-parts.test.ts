import path from "node:path";
import { announcePresence } from "@board/core/process/presence";
import { channels, processes, service_keys, users } from "@board/core/schema/all-tables";
import { runChecks } from "@board/local/doctor/run-checks";
import { eq } from "drizzle-orm";
import { afterEach, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import { temporaryFolder } from "../support/program.ts";
import { TEST_KEYS } from "../support/world.ts";
import { describeFindings, startDoctorFixture } from "./doctor-fixture.ts";

const { world, home, environment } = await setup(startDoctorFixture());
const server = await setup(startMailServer());
const runDoctor = (change: Record<string, string> = {}) => runChecks({ ...environment, ...change });

afterEach(() => world.db.delete(processes));

test("the clocks of all processes are compared with the database's", async () => {
  const ctx = world.context();
  await announcePresence(ctx, { id: crypto.randomUUID(), name: "one:1" });
  expect(describeFindings(await runDoctor(), "processes")).toEqual(["ok: 1 at work, and their clocks agree"]);
  const late = { ...ctx, now: () => new Date(Date.now() - 30_000) };
  await announcePresence(late, { id: crypto.randomUUID(), name: "two:2" });
  expect(describeFindings(await runDoctor(), "processes")).toEqual([
    expect.stringMatching(/^warning: the clock of two:2 is 30\.\d s behind the database's$/),
  ]);
});

test("a folder of bodies is reported when it is missing", async () => {
  const folder = temporaryFolder();
  const check = async (place: string) => describeFindings(await runDoctor({ WEBHOOK_BODY_STORAGE: place }), "body storage");
  expect(await check(folder)).toEqual([`ok: ${folder} can be read and written`]);
  const missing = path.join(folder, "nowhere");
  expect(await check(missing)).toEqual([`warning: ${missing} does not exist yet`]);
});

test("the doctor signs in to a mail server, sends it no mail, and does not show its password", async () => {
  const check = async (url: string) => runDoctor({ SMTP_URL: url, MAIL_FROM: "board@example.com" });
  expect(describeFindings(await check(server.url), "mail")).toEqual([`ok: ${new URL(server.url).host} accepts the sign-in`]);
  expect(server.mails).toEqual([]);
  const refused = await check("smtp://user:s3cret@127.0.0.1:1");
  expect(describeFindings(refused, "mail")).toEqual([expect.stringMatching(/^wrong: 127\.0\.0\.1:1: .+/)]);
  expect(JSON.stringify(refused)).not.toContain("s3cret");
});

test("the doctor reads the key for web push without creating it, and reports a key that is missing or sealed with another ENCRYPTION_KEY", async () => {
  const check = async (change?: Record<string, string>) => describeFindings(await runDoctor(change), "push");
  expect(await check()).toEqual(["ok: the key is created when the first browser subscribes"]);
  expect(await world.db.$count(service_keys, eq(service_keys.name, "web-push"))).toBe(0);
  await world.call("GET", "/api/v1/users/me/push", { token: home.owner.token });
  expect(await check()).toEqual(["ok: the key can be read; 0 browsers subscribed"]);

  const [owner] = await world.db.select({ user_id: users.id }).from(users).where(eq(users.auth_subject, "home"));
  const browser = { ...owner!, type: "push" as const };
  const [first] = await world.db
    .insert(channels)
    .values([1, 2].map((n) => ({ ...browser, address_digest: `browser-${n}` })))
    .returning();
  expect(await check()).toEqual(["ok: the key can be read; 2 browsers subscribed"]);
  const failure = { failing_since: new Date(), last_error: "The push service answered 403." };
  await world.db.update(channels).set(failure).where(eq(channels.id, first!.id));
  expect(await check()).toEqual(["warning: 1 of 2 browsers gets no messages: The push service answered 403."]);
  expect(await check({ ENCRYPTION_KEY: TEST_KEYS.TOKEN_PEPPER })).toEqual([
    expect.stringMatching(/^wrong: the key cannot be read, so no browser is notified \(2 browsers\): .*another ENCRYPTION_KEY/),
  ]);
  await world.db.delete(service_keys).where(eq(service_keys.name, "web-push"));
  expect(await check()).toEqual(["wrong: the key with which 2 browsers subscribed is missing"]);
  expect(await world.db.$count(service_keys, eq(service_keys.name, "web-push"))).toBe(0);
});
