import { board_webhooks } from "@board/core/schema/all-tables";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { createWebhook, postPayload, post } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const all = `/api/v1/boards/${home.board_id}/webhooks`;
const create = (body: unknown) => world.call("POST", all, { token: home.owner.token, body });
const get = (webhook: Webhook) => world.call("GET", webhook.endpoint_path, { token: home.owner.token });
const patch = (webhook: Webhook, body: unknown) => world.call("PATCH", webhook.endpoint_path, { token: home.owner.token, body });

/** Moves a webhook's timestamps into the past, so that a change shows at any clock resolution. */
const backdate = (webhook: Webhook, minutes = 1) =>
  world.db
    .update(board_webhooks)
    .set({
      created_at: sql`${board_webhooks.created_at} - make_interval(mins => ${minutes})`,
      updated_at: sql`${board_webhooks.updated_at} - make_interval(mins => ${minutes})`,
    })
    .where(eq(board_webhooks.id, webhook.id));

test("a webhook created with only a description is enabled, notifies the lead and accepts unsigned posts", async () => {
  const created = await create({ description: "  Triage the report  " });
  expect(created.status).toBe(200);
  const { id, created_at } = created.body;
  expect(created.body).toEqual({
    id,
    board_id: home.board_id,
    agent_id: null,
    description: "Triage the report",
    enabled: true,
    endpoint_path: `${all}/${id}`,
    endpoint_url: null,
    source: "generic",
    event_types: null,
    has_secret: false,
    previous_secret_until: null,
    signature_header: null,
    created_at,
    updated_at: created_at,
  });
  expect((await get(created.body)).body).toEqual(created.body);
});

test("every field of a webhook can be set at creation, and the secret is never returned", async () => {
  const secret = "a secret nobody may read";
  const created = await create({
    description: "Deploy",
    enabled: false,
    agent_id: home.worker.id.toUpperCase(),
    secret: `  ${secret} `,
    signature_header: " Stripe-Signature ",
  });
  expect(created.body).toMatchObject({
    enabled: false,
    agent_id: home.worker.id,
    has_secret: true,
    signature_header: "Stripe-Signature",
  });
  const list = await world.call("GET", all, { token: home.owner.token });
  const changed = await patch(created.body, { description: "Deploy it" });
  for (const answer of [created, list, changed, await get(created.body)]) expect(answer.text).not.toContain(secret);
  const [row] = await world.db.select().from(board_webhooks).where(eq(board_webhooks.id, created.body.id));
  expect(Buffer.from(row!.secret_sealed!).includes(secret)).toBe(false);
});

test("with BASE_URL, endpoint_url is an absolute URL", async () => {
  const publicWorld = await createWorld({ environment: { BASE_URL: "https://boards.example.com/" } });
  try {
    const webhook = await createWebhook(publicWorld, await publicWorld.tenant("public"));
    expect(webhook.endpoint_url).toBe(`https://boards.example.com${webhook.endpoint_path}`);
  } finally {
    await publicWorld.close();
  }
});

test.each([
  [{}, "missing", "description"],
  [{ description: null }, "string_type", "description"],
  [{ description: 5 }, "string_type", "description"],
  [{ description: " \n " }, "string_too_short", "description"],
  [{ description: "d".repeat(10_001) }, "string_too_long", "description"],
  [{ description: "d", enabled: "yes" }, "bool_type", "enabled"],
  [{ description: "d", enabled: null }, "bool_type", "enabled"],
  [{ description: "d", agent_id: "lead" }, "uuid_parsing", "agent_id"],
  [{ description: "d", secret: "s".repeat(1_001) }, "string_too_long", "secret"],
  [{ description: "d", secret: 5 }, "string_type", "secret"],
  [{ description: "d", signature_header: "X Signature" }, "value_error", "signature_header"],
  [{ description: "d", signature_header: "X-Signature:" }, "value_error", "signature_header"],
  [{ description: "d", signature_header: "X-Sígnature" }, "value_error", "signature_header"],
])("an invalid field of a webhook is refused and named: %.60j", async (body, type, field) => {
  const refused = await create(body);
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toMatchObject([{ type, loc: ["body", field] }]);
  expect(refused.text).not.toContain("sssss");
});

test("a description and a secret of the maximum length are accepted", async () => {
  const created = await create({ description: "d".repeat(10_000), secret: "s".repeat(1_000) });
  expect([created.status, created.body.description.length, created.body.has_secret]).toEqual([200, 10_000, true]);
});

test("agent_id must name an agent of the board, at creation and in a change", async () => {
  const webhook = await createWebhook(world, home);
  const { agent } = await addBoard(world, home);
  for (const agent_id of [agent.id, abroad.worker.id, crypto.randomUUID()])
    for (const refused of [await create({ description: "d", agent_id }), await patch(webhook, { agent_id })])
      expect([refused.status, refused.body]).toEqual([422, { detail: "agent_id must reference an agent on this board." }]);
  expect((await get(webhook)).body).toEqual(webhook);
});

test("a change of a webhook changes only the fields that were sent", async () => {
  const webhook = await createWebhook(world, home, { secret: "key", signature_header: "X-Key", agent_id: home.worker.id });
  await backdate(webhook);
  const before = (await get(webhook)).body;
  const after = (await patch(webhook, { description: " Now this " })).body;
  expect(after).toEqual({ ...before, description: "Now this", updated_at: after.updated_at });
  expect(after.updated_at > before.updated_at).toBe(true);
});

test.each([
  {},
  { unknown: 1 },
  { description: "  Sort it " },
  { enabled: true },
  { agent_id: null },
  { secret: " key " },
  { signature_header: "X-Key " },
])("a change without effect keeps updated_at: %j", async (body) => {
  const webhook = await createWebhook(world, home, { secret: "key", signature_header: "X-Key" });
  await backdate(webhook);
  const before = (await get(webhook)).body;
  expect((await patch(webhook, body)).body).toEqual(before);
  expect((await get(webhook)).body).toEqual(before);
});

test("null removes the agent of a webhook, and null or a blank text removes its secret and signature header", async () => {
  for (const blank of [null, "", "  "]) {
    const webhook = await createWebhook(world, home, { agent_id: home.worker.id, secret: "key", signature_header: "X-Key" });
    const after = await patch(webhook, { agent_id: null, secret: blank, signature_header: blank });
    expect(after.body).toMatchObject({ agent_id: null, has_secret: false, signature_header: null });
    expect((await post(world, webhook)).status).toBe(202);
  }
});

test("a new secret applies to the next post", async () => {
  const webhook = await createWebhook(world, home);
  expect((await patch(webhook, { secret: "key" })).body.has_secret).toBe(true);
  expect((await post(world, webhook)).body).toEqual({ detail: "Missing webhook signature header." });
});

test("description and enabled of a webhook cannot be null", async () => {
  const webhook = await createWebhook(world, home);
  const refused = await patch(webhook, { description: null, enabled: null });
  expect(refused.body.detail).toMatchObject([
    { type: "string_type", loc: ["body", "description"] },
    { type: "bool_type", loc: ["body", "enabled"] },
  ]);
});

test("a disabled webhook refuses posts, keeps its payloads readable and accepts posts again once enabled", async () => {
  const webhook = await createWebhook(world, home);
  const payload_id = await postPayload(world, webhook);
  expect((await patch(webhook, { enabled: false })).body.enabled).toBe(false);
  expect((await post(world, webhook)).status).toBe(410);
  const payloads = `${webhook.endpoint_path}/payloads`;
  expect((await world.call("GET", `${payloads}/${payload_id}`, { token: home.owner.token })).status).toBe(200);
  expect((await world.call("GET", payloads, { token: home.owner.token })).body.total).toBe(1);
  await patch(webhook, { enabled: true });
  expect((await post(world, webhook)).status).toBe(202);
});

test("a board's webhooks are listed newest first, in pages", async () => {
  const tenant = await world.tenant("lister");
  const webhooks: Webhook[] = [];
  for (const minutes of [3, 1, 2]) {
    const webhook = await createWebhook(world, tenant, { description: `${minutes} minutes old` });
    await backdate(webhook, minutes);
    webhooks.push(webhook);
  }
  await createWebhook(world, home);
  const list = (query = "") =>
    world.call("GET", `/api/v1/boards/${tenant.board_id}/webhooks${query}`, { token: tenant.owner.token });
  const whole = (await list()).body;
  expect(whole).toMatchObject({ total: 3, limit: 50, offset: 0 });
  expect(whole.items.map((webhook: Webhook) => webhook.description)).toEqual(["1 minutes old", "2 minutes old", "3 minutes old"]);
  expect((await list("?limit=1&offset=1")).body).toEqual({ items: [whole.items[1]], total: 3, limit: 1, offset: 1 });
  expect((await list("?offset=9")).body).toEqual({ items: [], total: 3, limit: 50, offset: 9 });
  expect((await list("?limit=201")).body.detail).toMatchObject([{ type: "less_than_equal", loc: ["query", "limit"] }]);
});

test("deleting a webhook deletes its payloads and keeps the memory entries", async () => {
  const webhook = await createWebhook(world, home);
  const payload_id = await postPayload(world, webhook);
  const remove = () => world.call("DELETE", webhook.endpoint_path, { token: home.owner.token });
  expect((await remove()).body).toEqual({ ok: true });
  for (const missing of [await remove(), await get(webhook), await patch(webhook, {}), await post(world, webhook)])
    expect([missing.status, missing.body]).toEqual([404, { detail: "Not Found" }]);
  expect((await world.call("GET", `${webhook.endpoint_path}/payloads/${payload_id}`, { token: home.owner.token })).status).toBe(
    404,
  );
  const stored = await world.db.execute(sql`select id from board_webhook_payloads where id = ${payload_id}`);
  expect(stored).toMatchObject({ rows: [] });
  const memory = await world.call("GET", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token });
  expect(memory.text).toContain(`payload:${payload_id}`);
});

test("a webhook notifies the lead after its agent is deleted", async () => {
  const webhook = await createWebhook(world, abroad, { agent_id: abroad.worker.id });
  await world.db.execute(sql`delete from agents where id = ${abroad.worker.id}`);
  const after = await world.call("GET", webhook.endpoint_path, { token: abroad.owner.token });
  expect(after.body).toEqual({ ...webhook, agent_id: null });
});
