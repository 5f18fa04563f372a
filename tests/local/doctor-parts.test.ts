import path from "node:path";
import { announcePresence } from "@board/core/process/presence";
import { processes } from "@board/core/schema/all-tables";
import { runChecks } from "@board/local/doctor/run-checks";
import { afterEach, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import { temporaryFolder } from "../support/program.ts";
import { describeFindings, startDoctorFixture } from "./doctor-fixture.ts";

const { world, environment } = await setup(startDoctorFixture());
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
