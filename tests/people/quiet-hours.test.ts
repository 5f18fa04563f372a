import { users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { renew, setup, setupWorld } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** An evening at the beginning of each test. In the night that follows, clocks in New York skip an hour. */
const STARTED = new Date("2027-03-13T21:00:00Z");

const server = await setup(startMailServer());
let start = STARTED;
const world = await setupWorld({ environment: server.environment, clock: () => start });

/** A person who is asked for approvals by e-mail, and the time of each mail. */
const home = renew(async (number) => {
  start = new Date(STARTED.getTime() + start.getTime() - world.now().getTime());
  server.refuse(null);
  server.mails.length = 0;
  const tenant = await world.tenant(`sleeper-${number}`);
  const email = `sleeper-${number}@example.com`;
  await world.db.update(users).set({ email }).where(eq(users.auth_subject, tenant.owner.subject));
  return tenant;
});

const prefer = async (body: object) => {
  const answer = await world.call("PUT", "/api/v1/users/me/notifications", { token: home.owner.token, body });
  expect(answer.status, answer.text).toBe(200);
};

async function ask(): Promise<void> {
  await requestApproval(world, home);
  await world.drain();
}

/** Lets time pass in small steps, and returns when mails arrived. */
async function wait(hours: number): Promise<string[]> {
  const arrivals: string[] = [];
  for (let step = 0; step < hours * 12; step++) {
    const before = server.mails.length;
    world.elapse(5 * MINUTE);
    await world.drain();
    if (server.mails.length > before) arrivals.push(world.now().toISOString().slice(11, 16));
  }
  return arrivals;
}

const NIGHT = { from: "22:00", until: "07:00" };

test("a message for the quiet hours is sent when they end", async () => {
  await prefer({ quiet_hours: NIGHT, time_zone: "UTC" });
  world.elapse(2 * HOUR);
  await ask();
  expect(server.mails).toEqual([]);
  expect(await wait(9)).toEqual(["07:05"]);
});

test("a digest whose time is in the quiet hours is sent when they end", async () => {
  await prefer({
    quiet_hours: NIGHT,
    time_zone: "UTC",
    digest_time: "06:00",
    choices: { "approval.requested": { email: "digest" } },
  });
  await ask();
  expect(await wait(12)).toEqual(["07:05"]);
});

test("a message that failed before the quiet hours is not sent again until they end", async () => {
  await prefer({ quiet_hours: NIGHT, time_zone: "UTC" });
  server.refuse(451);
  world.elapse(58 * MINUTE);
  await ask();
  server.refuse(null);
  expect(await wait(10)).toEqual(["07:03"]);
});

test("quiet hours that begin while a message waits for another reason apply to the message too", async () => {
  await prefer({ time_zone: "UTC", digest_time: "23:00", choices: { "approval.requested": { email: "digest" } } });
  await ask();
  await prefer({ quiet_hours: NIGHT });
  expect(await wait(12)).toEqual(["07:05"]);
});

test("quiet hours that end at a time which the clocks skip end in the same night", async () => {
  await prefer({ quiet_hours: { from: "20:00", until: "02:30" }, time_zone: "America/New_York" });
  world.elapse(6 * HOUR);
  await ask();
  expect(await wait(6)).toEqual(["07:35"]);
});
