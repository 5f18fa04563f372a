import { board_webhook_payloads, jobs, webhook_payload_usage } from "@board/core/schema/all-tables";
import { scheduled } from "@board/core/work/schedules";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { createWebhook, post, postPayload } from "../support/webhook.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

const LIMIT = 10_000;
const DAY = 86_400_000;
const large = "x".repeat(6_000);

let world: World;
let home: Tenant;
let tenants = 0;

beforeAll(async () => {
  world = await createWorld({ environment: { ORGANIZATION_PAYLOAD_BYTES: `${LIMIT}` } });
});
afterAll(() => world.close());
beforeEach(async () => {
  home = await world.tenant(`tenant-${++tenants}`);
});

const usage = async () => {
  const rows = await world.db.select().from(webhook_payload_usage);
  return rows.filter((row) => row.organization_id === home.organization_id).reduce((sum, { bytes }) => sum + bytes, 0);
};
const remove = (path: string) => world.call("DELETE", path, { token: home.owner.token });

/** Creates a webhook and posts until its organization is over its budget. */
async function fill(tenant = home) {
  const webhook = await createWebhook(world, tenant);
  await postPayload(world, webhook, large);
  await postPayload(world, webhook, large);
  return webhook;
}

test("a post of an organization over its payload bytes gets 429, stores nothing, and posts of others are accepted", async () => {
  const webhook = await fill();
  const other = await createWebhook(world, await world.tenant("other"));
  const before = await world.db.$count(board_webhook_payloads);
  const refused = await post(world, await createWebhook(world, home), "{}");
  expect([refused.status, refused.body, refused.headers.get("retry-after")]).toEqual([
    429,
    { detail: "The organization has no room for more webhook payloads. Remove webhooks or wait until old payloads expire." },
    "3600",
  ]);
  expect((await post(world, webhook, "{}")).status).toBe(429);
  expect(await world.db.$count(board_webhook_payloads)).toBe(before);
  expect((await post(world, other, "{}")).status).toBe(202);
});

test("a removed webhook makes room for the payloads of others", async () => {
  const webhook = await fill();
  const other = await createWebhook(world, home);
  const kept = await createWebhook(world, home);
  expect((await post(world, other, "{}")).status).toBe(429);
  expect((await remove(webhook.endpoint_path)).status).toBe(200);
  expect(await usage()).toBe(0);
  expect((await post(world, kept, "{}")).status).toBe(202);
});

test("a removed board makes room for the payloads of others", async () => {
  const { board_id } = await addBoard(world, home);
  await fill({ ...home, board_id });
  const webhook = await createWebhook(world, home);
  expect((await post(world, webhook, "{}")).status).toBe(429);
  expect((await remove(`/api/v1/boards/${board_id}`)).status).toBe(200);
  expect(await usage()).toBe(0);
  expect((await post(world, webhook, "{}")).status).toBe(202);
});

test("expired payloads make room for new ones", async () => {
  const webhook = await fill();
  await world.db.update(jobs).set({ status: "done", finished_at: world.now() });
  await world.db
    .update(board_webhook_payloads)
    .set({ received_at: new Date(world.now().getTime() - 91 * DAY) })
    .where(sql`board_id = ${home.board_id}`);
  await scheduled.retention(world.context());
  expect(await usage()).toBe(0);
  expect((await post(world, webhook, "{}")).status).toBe(202);
});

test("a wrong count of an organization over its budget is corrected from its payloads", async () => {
  const webhook = await createWebhook(world, home);
  await postPayload(world, webhook, "{}");
  const stored = await usage();
  await world.db
    .update(webhook_payload_usage)
    .set({ bytes: LIMIT * 5 })
    .where(sql`organization_id = ${home.organization_id}`);
  expect((await post(world, webhook, "{}")).status).toBe(429);
  await scheduled.retention(world.context());
  expect(await usage()).toBe(stored);
  expect((await post(world, webhook, "{}")).status).toBe(202);
});

test("payloads from before bytes were counted are added to the count", async () => {
  const webhook = await fill();
  const mine = sql`organization_id = ${home.organization_id}`;
  await world.db.delete(webhook_payload_usage).where(mine);
  await world.db.update(board_webhook_payloads).set({ size_bytes: null }).where(sql`board_id = ${home.board_id}`);
  expect((await post(world, webhook, "{}")).status).toBe(202);
  await scheduled.retention(world.context());
  expect(await usage()).toBeGreaterThanOrEqual(2 * large.length);
  expect((await post(world, webhook, "{}")).status).toBe(429);
});

test("the bytes of headers count, since they are stored too", async () => {
  const webhook = await createWebhook(world, home);
  await post(world, webhook, "{}", { "x-long": "y".repeat(6_000) });
  expect(await usage()).toBeGreaterThan(6_000);
});

test("a post needs three statements, with its count of bytes", async () => {
  const webhook = await createWebhook(world, home);
  world.statements.length = 0;
  await postPayload(world, webhook);
  expect(world.statements).toHaveLength(3);
});

test("ORGANIZATION_PAYLOAD_BYTES=0 switches the limit off", async () => {
  const unlimited = await createWorld({ environment: { ORGANIZATION_PAYLOAD_BYTES: "0" } });
  try {
    const webhook = await createWebhook(unlimited, await unlimited.tenant("home"));
    await postPayload(unlimited, webhook);
    await unlimited.db.update(webhook_payload_usage).set({ bytes: 10 ** 12 });
    expect((await post(unlimited, webhook)).status).toBe(202);
  } finally {
    await unlimited.close();
  }
});
