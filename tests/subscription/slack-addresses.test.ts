import { subscriptions } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { BASE, setupSubscriptions } from "./subscription-fixture.ts";

const { world, home, receiver, send, subscribe, addTask } = await setupSubscriptions();

const CHANNEL = "services/T000/B000/the-credential-of-a-channel-x7Qz";
const addressOf = (path = CHANNEL) => new URL(`/${path}`, receiver.url).href;
const shown = () => `${new URL(receiver.url).origin}/...x7Qz`;
const rowOf = async ({ id }: { id: string }) => (await world.db.select().from(subscriptions).where(eq(subscriptions.id, id)))[0]!;
const pathsOfEvent = async () => {
  receiver.messages.length = 0;
  await addTask();
  await world.drain();
  return receiver.messages.map(({ path }) => path);
};

test("a Slack address is stored encrypted and shown as host and last four characters, and messages reach it", async () => {
  const created = await subscribe({ format: "slack", url: addressOf() });
  expect(created.url).toBe(shown());
  const answers = [created, await send("GET", `${BASE}/${created.id}`), await send("GET", BASE)];
  expect(JSON.stringify(answers)).not.toContain("the-credential");
  const row = await rowOf(created);
  expect(JSON.stringify({ ...row, url_sealed: Buffer.from(row.url_sealed!).toString("latin1") })).not.toContain("the-credential");
  expect(await pathsOfEvent()).toEqual([`/${CHANNEL}`]);
  await send("POST", `${BASE}/${created.id}/test`);
  expect(receiver.messages.map(({ path }) => path)).toEqual([`/${CHANNEL}`, `/${CHANNEL}`]);
});

test("a PATCH with the shown form of a Slack address keeps the stored address, and a PATCH with the whole address changes nothing", async () => {
  const created = await subscribe({ format: "slack", url: addressOf() });
  for (const url of [shown(), addressOf()]) expect((await send("PATCH", `${BASE}/${created.id}`, { url })).url).toBe(shown());
  expect((await rowOf(created)).updated_at.toISOString()).toBe(created.updated_at);
  await send("PATCH", `${BASE}/${created.id}`, { url: shown(), description: "The team's channel" });
  expect(await pathsOfEvent()).toEqual([`/${CHANNEL}`]);
});

test("a new Slack address replaces the stored one and is shown by its own last characters", async () => {
  const created = await subscribe({ format: "slack", url: addressOf() });
  const changed = await send("PATCH", `${BASE}/${created.id}`, { url: addressOf("services/T000/B000/another-credential-Ab12") });
  expect(changed.url).toBe(shown().replace("x7Qz", "Ab12"));
  expect(await pathsOfEvent()).toEqual(["/services/T000/B000/another-credential-Ab12"]);
});

test("a change of the format to slack encrypts the address, and a change back does not show it again", async () => {
  const created = await subscribe({ url: addressOf() });
  expect(created.url).toBe(addressOf());
  for (const format of ["slack", "standard"])
    expect((await send("PATCH", `${BASE}/${created.id}`, { format })).url).toBe(shown());
  expect(await pathsOfEvent()).toEqual([`/${CHANNEL}`]);
  expect((await send("PATCH", `${BASE}/${created.id}`, { url: addressOf("public") })).url).toBe(addressOf("public"));
});

test("no character of the path is shown if the path of a Slack address is short", async () => {
  expect((await subscribe({ format: "slack", url: addressOf("short") })).url).toBe(`${new URL(receiver.url).origin}/...`);
});

test("an address that was stored before addresses were encrypted is encrypted within an hour, and messages still reach it", async () => {
  const old = await subscribe({ format: "slack", url: addressOf() });
  const others = await subscribe({ url: addressOf("standard"), active: false });
  await world.db.update(subscriptions).set({ url: addressOf(), url_sealed: null }).where(eq(subscriptions.id, old.id));
  expect(await pathsOfEvent()).toEqual([`/${CHANNEL}`]);
  const { updated_at } = await rowOf(old);
  await scheduled.retention(world.context());
  expect(await rowOf(old)).toMatchObject({ url: shown(), updated_at });
  expect((await rowOf(others)).url).toBe(addressOf("standard"));
  expect(await pathsOfEvent()).toEqual([`/${CHANNEL}`]);
  expect(home.organization_id).toBe(old.organization_id);
});
