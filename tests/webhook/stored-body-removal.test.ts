import type { Webhook } from "@board/core/webhook/webhook";
import { scheduled } from "@board/api/work/schedules";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { createWebhook } from "../support/webhook.ts";
import { DAY_MS, setupStoredBodies } from "./body-fixture.ts";

const { fixture, home, webhook } = await setupStoredBodies();

const remove = async (target: string) =>
  expect((await fixture.world.call("DELETE", target, { token: home.owner.token })).status).toBe(200);

test.each([
  ["webhook", ({ endpoint_path }: Webhook) => endpoint_path],
  ["board", ({ board_id }: Webhook) => `/api/v1/boards/${board_id}`],
  ["organization", () => "/api/v1/organizations/me"],
])("the objects of a removed %s are deleted, and other objects stay", async (what, target) => {
  const { board_id } = await addBoard(fixture.world, home);
  const webhook = await createWebhook(fixture.world, { ...home, board_id });
  const sibling = await createWebhook(fixture.world, home);
  const other = await fixture.world.tenant(`other of ${home.board_id}`);
  const foreign = await createWebhook(fixture.world, other);
  for (const target of [webhook, webhook, sibling, foreign]) await fixture.addOld(target, "body");
  await fixture.run();
  expect(await fixture.keysOf(home)).toHaveLength(3);
  await remove(target(webhook));
  await fixture.run();
  expect(await fixture.keysOf(home)).toHaveLength(what === "organization" ? 0 : 1);
  expect(await fixture.keysOf(other)).toHaveLength(1);
  expect(await fixture.countOrphans(home)).toBe(0);
});

test("the object of a payload that has expired is deleted", async () => {
  await fixture.addOld(webhook, "old", 89.9);
  const young = await fixture.addOld(webhook, "young", 40);
  await fixture.run();
  fixture.world.elapse(DAY_MS);
  await scheduled.retention(fixture.world.context());
  await fixture.run();
  expect(await fixture.keysOf(home)).toEqual([(await fixture.bodyOf(young)).body_key]);
});

/** Starts the schedule as in a process that is killed right before or right after a call of the storage. */
async function killAt(moment: "before" | "after", call: "put" | "get"): Promise<void> {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  fixture.intercept[moment] = async (made) => {
    if (made !== call) return;
    resolve();
    await new Promise(() => {});
  };
  void fixture.run();
  await reached;
  fixture.intercept[moment] = () => {};
}

test.each([
  ["before", "put", 0],
  ["after", "put", 1],
  ["after", "get", 1],
] as const)(
  "a run that is killed %s its call of %s does not lose a body, and a later run moves the body to the same object",
  async (moment, call, objects) => {
    const id = await fixture.addOld(webhook, "precious");
    const read = async () =>
      (await fixture.world.call("GET", `${webhook.endpoint_path}/payloads/${id}`, { token: home.owner.token })).body.payload;
    await killAt(moment, call);
    expect([await read(), (await fixture.keysOf(home)).length]).toEqual(["precious", objects]);
    fixture.world.elapse(900_000);
    await fixture.run();
    expect((await fixture.bodyOf(id)).body).toBeNull();
    expect([await read(), (await fixture.keysOf(home)).length, await fixture.countOrphans(home)]).toEqual(["precious", 1, 0]);
  },
);

test("an object that a killed run left behind is deleted when its payload is removed before the body has moved", async () => {
  await fixture.addOld(webhook, "precious");
  await killAt("after", "put");
  await remove(webhook.endpoint_path);
  expect(await fixture.keysOf(home)).toHaveLength(1);
  fixture.world.elapse(2 * 3_600_000);
  await fixture.run();
  expect([await fixture.keysOf(home), await fixture.countOrphans(home)]).toEqual([[], 0]);
});

test("an object is deleted if its payload is removed while the object is being written", async () => {
  await fixture.addOld(webhook, "precious");
  fixture.intercept.after = async (call) => {
    if (call === "put") await remove(webhook.endpoint_path);
  };
  await fixture.run();
  fixture.intercept.after = () => {};
  expect(await fixture.keysOf(home)).toHaveLength(1);
  fixture.world.elapse(2 * 3_600_000);
  await fixture.run();
  expect([await fixture.keysOf(home), await fixture.countOrphans(home)]).toEqual([[], 0]);
});

test("the schedule that moves payload bodies to the body storage writes each body once, even if it runs twice at the same time", async () => {
  const ids = [];
  for (let n = 0; n < 10; n++) ids.push(await fixture.addOld(webhook, `body ${n}`));
  const put: string[] = [];
  fixture.intercept.before = (call, key) => void (call === "put" && put.push(key));
  await Promise.all([fixture.run(), fixture.run()]);
  fixture.intercept.before = () => {};
  expect(put.toSorted()).toEqual(await fixture.keysOf(home));
  for (const id of ids) expect((await fixture.bodyOf(id)).body).toBeNull();
});

test("more removed objects than one batch holds are deleted in one run", async () => {
  await fixture.addCopies(await fixture.addOld(webhook, "body"), 229);
  await fixture.run();
  expect(await fixture.keysOf(home)).toHaveLength(230);
  await remove(webhook.endpoint_path);
  await fixture.run();
  expect(await fixture.keysOf(home)).toEqual([]);
});
