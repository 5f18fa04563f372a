import { scheduled } from "@board/api/work/schedules";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const DAY = 24 * 60 * 60_000;

const world = await setupWorld();
const home = await world.tenant("home");
const { token } = home.owner;

const warnings = async (): Promise<string[]> => {
  await scheduled.retention(world.context());
  const { body } = await world.call("GET", "/api/v1/activity?limit=200", { token });
  return body.items
    .filter(({ event_type }: { event_type: string }) => event_type === "key.expires_soon")
    .map(({ message }: { message: string }) => message);
};

test("the creator and admins are notified 14 and 2 days before a key ends, once each, and again after a rotation", async () => {
  const expires_at = new Date(world.now().getTime() + 30 * DAY).toISOString();
  const body = { name: "Nightly", access: "read", expires_at };
  const key = (await world.call("POST", "/api/v1/keys", { token, body })).body;
  expect(await warnings()).toEqual([]);
  world.elapse(17 * DAY);
  expect(await warnings()).toEqual([expect.stringContaining(`Key "Nightly" (${key.prefix}…) ends on ${expires_at}`)]);
  expect(await warnings()).toHaveLength(1);
  await world.drain();
  const inbox = await world.call("GET", "/api/v1/users/me/inbox", { token });
  expect(JSON.stringify(inbox.body)).toContain("A key ends soon: Nightly");
  world.elapse(11.5 * DAY);
  expect(await warnings()).toHaveLength(2);
  expect(await warnings()).toHaveLength(2);
  const later = { expires_at: new Date(world.now().getTime() + 10 * DAY).toISOString() };
  await world.call("POST", `/api/v1/keys/${key.id}/rotate`, { token, body: later });
  expect(await warnings()).toHaveLength(3);
});

test("14 days before a key ends, an admin who did not create it is notified in the inbox, and a member who did not create it is not", async () => {
  const admin = await world.member("other-admin", home, "admin");
  const member = await world.member("plain-member", home, "member", { read: true, write: true });
  const expires_at = new Date(world.now().getTime() + 20 * DAY).toISOString();
  await world.call("POST", "/api/v1/keys", { token, body: { name: "Weekly", access: "read", expires_at } });
  const titles = async (person: { token: string }): Promise<string[]> => {
    await scheduled.retention(world.context());
    await world.drain();
    const { body } = await world.call("GET", "/api/v1/users/me/inbox", { token: person.token });
    return body.items.map(({ title }: { title: string }) => title);
  };
  world.elapse(5.9 * DAY);
  expect(await titles(admin)).not.toContain("A key ends soon: Weekly");
  world.elapse(0.2 * DAY);
  expect((await titles(admin)).filter((title) => title === "A key ends soon: Weekly")).toHaveLength(1);
  expect(await titles(member)).toEqual([]);
});
