import { organization_text_usage, organizations } from "@board/core/schema/all-tables";
import { board_memory } from "@board/core/schema/all-tables";
import { storedTextBytes } from "@board/core/organization/stored-text";
import { scheduled } from "@board/api/work/schedules";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { rowsOf } from "@board/core/db/database";
import { renew, setupWorld } from "../support/fixtures.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { createWebhook, post } from "../support/webhook.ts";
import { createWorld, type Tenant } from "../support/world.ts";
import { createPlace, TEXT_KINDS } from "./text-kinds.ts";

const LIMIT = 100_000;
const LONG = "A sentence of usual length. ".repeat(100).trim();
const SHORT = "A sentence.";

let tenants = 0;

const world = await setupWorld({ limits: { organization_text_bytes: LIMIT } });

const home = renew(() => world.tenant(`tenant-${++tenants}`));
const place = renew(() => createPlace(world, home));

type Owner = Pick<Tenant, "organization_id" | "board_id">;

async function used({ organization_id }: Owner = home): Promise<number> {
  const rows = await world.db
    .select()
    .from(organization_text_usage)
    .where(eq(organization_text_usage.organization_id, organization_id));
  return rows.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function stored({ organization_id }: Owner = home): Promise<number> {
  const result = await world.db.execute(sql`select ${storedTextBytes(organization_id)}::int as bytes`);
  return rowsOf<{ bytes: number }>(result)[0]!.bytes;
}

/** Fills the rest of the budget directly in the database, which checks no limit. */
async function fill(tenant: Owner = home, limit = LIMIT): Promise<void> {
  const content = "x".repeat(limit - (await used(tenant)) - 200);
  await world.db.insert(board_memory).values({ board_id: tenant.board_id, content });
}

const refusal = (used_bytes: number, limit_bytes = LIMIT) => ({
  detail: {
    message: `The organization has no room for more text: ${used_bytes} of ${limit_bytes} bytes are used. Remove what is no longer needed.`,
    used_bytes,
    limit_bytes,
  },
});

const kinds = Object.entries(TEXT_KINDS);

test.each(kinds)("the text of %s is counted, and removing it makes room again", async (_name, { add, remove }) => {
  const before = await used();
  const made = await add(place, LONG);
  expect([made.status, made.text]).toEqual([200, made.text]);
  const counted = await used();
  expect(counted).toBeGreaterThan(before);
  expect(await stored()).toBe(counted);
  const removed = await remove(place, made);
  expect([removed.status, removed.text]).toEqual([200, removed.text]);
  expect(await used()).toBeLessThan(counted);
  expect(await used()).toBeLessThanOrEqual(before + 200);
  expect(await stored()).toBe(await used());
});

test.each(kinds)("storing %s beyond the text budget gets 409 with the used bytes and the limit", async (_name, { add }) => {
  await fill();
  const full = await used();
  const answer = await add(place, LONG);
  expect([answer.status, answer.body]).toEqual([409, refusal(full)]);
  expect(await used()).toBe(full);
});

test.each(kinds.flatMap(([name, { add, change }]) => (change ? [{ name, add, change }] : [])))(
  "the text of $name may become shorter but not longer while the budget is used up",
  async ({ add, change }) => {
    const made = await add(place, LONG);
    await fill();
    expect((await change(place, made, `${LONG}${SHORT}`)).status).toBe(409);
    const shorter = await change(place, made, SHORT);
    expect([shorter.status, shorter.text]).toEqual([200, shorter.text]);
    expect(await used()).toBeLessThan(LIMIT);
    expect(await stored()).toBe(await used());
  },
);

test("a full organization can still be read and its tasks moved, and another organization can store texts", async () => {
  await fill();
  expect((await place.call("GET", `${place.board}/tasks`)).status).toBe(200);
  expect((await place.call("PATCH", place.task, { status: "in_progress", assigned_agent_id: null })).status).toBe(200);
  const other = await createPlace(world, await world.tenant(`tenant-${++tenants}`));
  expect((await other.call("POST", `${other.board}/memory`, { content: LONG })).status).toBe(200);
});

test("a repeated request that was refused for lack of room is carried out once there is room", async () => {
  const path = `${place.board}/memory`;
  const send = () =>
    world.call("POST", path, { token: home.owner.token, body: { content: LONG }, headers: { "idempotency-key": "once" } });
  const made = await place.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { title: "T", description: LONG });
  await fill();
  expect((await send()).status).toBe(409);
  await place.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${made.body.id}`);
  expect((await send()).status).toBe(200);
});

test("a webhook's post gets 409 as soon as half of the budget is used, so that the organization itself can still write", async () => {
  const webhook = await createWebhook(world, home);
  await fill(home, LIMIT / 2);
  const answer = await post(world, webhook, "{}");
  expect([answer.status, answer.body]).toEqual([409, refusal(LIMIT / 2, LIMIT / 2)]);
  expect((await place.call("POST", `${place.board}/memory`, { content: LONG })).status).toBe(200);
});

test("messages from an agent to an agent without a host are counted, and refused beyond the budget", async () => {
  const board = await openPullBoard(world, `pull-${++tenants}`);
  const nudge = (message: string) =>
    board.call("POST", `/api/v1/agent/boards/${board.board_id}/agents/${board.worker.id}/nudge`, board.lead.token, { message });
  const before = await used(board);
  expect((await nudge(LONG)).status).toBe(200);
  expect(await used(board)).toBe(before + LONG.length + 200);
  await fill(board);
  expect((await nudge(LONG)).body).toEqual(refusal(LIMIT));
});

test("text that the service itself writes is counted and never refused", async () => {
  await fill();
  await world.db.insert(board_memory).values({ board_id: home.board_id, content: LONG });
  expect(await used()).toBe(LIMIT + LONG.length + 200);
});

test("removing a board frees the bytes of everything on it", async () => {
  const before = await used();
  for (const name of [
    "a task's description",
    "a comment",
    "memory of a board",
    "a value of a custom field",
    "an approval",
    "an agent's identity",
    "a webhook",
  ])
    await TEXT_KINDS[name]!.add(place, LONG);
  expect(await used()).toBeGreaterThan(before + 7 * LONG.length);
  expect((await place.call("DELETE", place.board)).status).toBe(200);
  expect(await used()).toBeLessThan(before);
  expect(await stored()).toBe(await used());
});

test("removing an organization also removes its count of text bytes", async () => {
  for (const [, { add }] of kinds) await add(place, SHORT);
  expect((await place.call("DELETE", "/api/v1/organizations/me")).status).toBe(200);
  expect(await used()).toBe(0);
  expect(await world.db.$count(organization_text_usage, eq(organization_text_usage.organization_id, home.organization_id))).toBe(
    0,
  );
});

test("a wrong count is corrected from the texts by the weekly recount", async () => {
  await scheduled.retention(world.context());
  const right = await used();
  const mine = eq(organization_text_usage.organization_id, home.organization_id);
  await world.db.update(organization_text_usage).set({ bytes: LIMIT }).where(mine);
  expect((await place.call("POST", `${place.board}/memory`, { content: SHORT })).status).toBe(409);
  world.elapse(8 * 24 * 3_600_000);
  await scheduled.retention(world.context());
  expect(await used()).toBe(right);
  expect((await place.call("POST", `${place.board}/memory`, { content: SHORT })).status).toBe(200);
});

test("texts from before they were counted are added to the count", async () => {
  await TEXT_KINDS["a comment"]!.add(place, LONG);
  await world.db.delete(organization_text_usage).where(eq(organization_text_usage.organization_id, home.organization_id));
  // The state in which the migration leaves organizations.
  await world.db.update(organizations).set({ texts_counted_at: null }).where(eq(organizations.id, home.organization_id));
  await scheduled.retention(world.context());
  expect(await used()).toBe(await stored());
});

test("organization_text_bytes=0 switches the limit off", async () => {
  const unlimited = await createWorld({ limits: { organization_text_bytes: 0 } });
  try {
    const tenant = await unlimited.tenant("home");
    await unlimited.db.update(organization_text_usage).set({ bytes: 10 ** 12 });
    const path = `/api/v1/boards/${tenant.board_id}/memory`;
    expect((await unlimited.call("POST", path, { token: tenant.owner.token, body: { content: LONG } })).status).toBe(200);
  } finally {
    await unlimited.close();
  }
});
