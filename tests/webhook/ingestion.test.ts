import { board_memory, board_webhook_payloads, jobs } from "@board/core/schema/all-tables";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { createWebhook, postPayload, post, readPayload } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";

const MAX_BYTES = 1_000;
const RATE = 5;

const toNextMinute = () => world.elapse(60_000 - (world.now().getTime() % 60_000));

const environment = { WEBHOOK_MAX_PAYLOAD_BYTES: `${MAX_BYTES}`, WEBHOOK_RATE_PER_MINUTE: `${RATE}` };
const world = await setupWorld({ environment, limits: { webhook_refusals_per_minute: RATE } });
const home = await world.tenant("home");
const webhook = await createWebhook(world, home);
toNextMinute();

/** Counts the payloads, memory entries and jobs. */
const stored = () => Promise.all([world.db.$count(board_webhook_payloads), world.db.$count(board_memory), world.db.$count(jobs)]);
const patch = (body: object, target = webhook) => world.call("PATCH", target.endpoint_path, { token: home.owner.token, body });
const TOO_LARGE = { detail: `Payload exceeds maximum size of ${MAX_BYTES} bytes.` };

/** Posts a stream of ten chunks and returns how many of them were read. */
async function stream(path: string, chunk: Uint8Array, headers: Record<string, string> = {}) {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (pulled === 10) return controller.close();
        pulled += 1;
        controller.enqueue(chunk);
      },
    },
    { highWaterMark: 0 },
  );
  const response = await world.app.request(path, { method: "POST", body, headers, duplex: "half" } as RequestInit);
  return { status: response.status, body: await response.json(), pulled };
}

test("an accepted post stores one payload, one memory entry and one job, and is answered before the agent is notified", async () => {
  const before = await stored();
  const answer = await post(world, webhook, '{"a":1}');
  const { payload_id } = answer.body;
  expect([answer.status, answer.body]).toEqual([202, { ok: true, board_id: home.board_id, webhook_id: webhook.id, payload_id }]);
  expect(await stored()).toEqual(before.map((count) => count + 1));
  const [job] = await world.db.select().from(jobs).where(sql`payload ->> 'payload_id' = ${payload_id}`);
  expect(job).toMatchObject({ kind: "webhook.notify", status: "queued", attempts: 0 });
});

test("a post to a malformed or unknown id, or to a webhook of another board, gets 404", async () => {
  const { board_id } = await addBoard(world, home);
  const before = await stored();
  for (const path of [
    `/api/v1/boards/${home.board_id}/webhooks/none`,
    `/api/v1/boards/none/webhooks/${webhook.id}`,
    `/api/v1/boards/${home.board_id}/webhooks/${crypto.randomUUID()}`,
    `/api/v1/boards/${board_id}/webhooks/${webhook.id}`,
    `/api/v1/boards/${home.board_id}/webhooks/%00`,
    `/api/v1/boards/${home.board_id}/webhooks/%ff`,
  ]) {
    const missing = await world.call("POST", path, { raw: "{}" });
    expect([missing.status, missing.body], path).toEqual([404, { detail: "Not Found" }]);
  }
  expect(await stored()).toEqual(before);
});

test("a post accepts ids in any letter case and a trailing slash", async () => {
  const path = `/api/v1/boards/${home.board_id.toUpperCase()}/webhooks/${webhook.id.toUpperCase()}/`;
  const answer = await world.call("POST", path, { raw: "{}" });
  expect([answer.status, answer.body.webhook_id]).toEqual([202, webhook.id]);
});

test("the checks of a post run in a fixed order, and a refused post stores nothing", async () => {
  const guarded = await createWebhook(world, home, { enabled: false, secret: "key" });
  const tooLarge = "x".repeat(MAX_BYTES + 1);
  const before = await stored();
  toNextMinute();
  expect([(await post(world, guarded, tooLarge)).status, (await post(world, guarded)).body]).toEqual([
    410,
    { detail: "Webhook is disabled." },
  ]);
  await patch({ enabled: true }, guarded);
  for (let n = 0; n < RATE - 1; n++) expect((await post(world, guarded, tooLarge)).status).toBe(413);
  expect((await post(world, guarded)).body).toEqual({ detail: "Missing webhook signature header." });
  expect((await post(world, guarded, tooLarge)).status).toBe(429);
  expect(await stored()).toEqual(before);
});

test("a webhook beyond its rate answers 429 until the minute ends, and other webhooks are unaffected", async () => {
  const busy = await createWebhook(world, home);
  toNextMinute();
  world.elapse(20_000);
  for (let n = 0; n < RATE; n++) await postPayload(world, busy);
  const refused = await post(world, busy);
  expect([refused.status, refused.body]).toEqual([429, { detail: "Too Many Requests" }]);
  const wait = Number(refused.headers.get("retry-after"));
  expect(Number.isInteger(wait) && wait > 0 && wait <= 40).toBe(true);
  expect((await post(world, await createWebhook(world, home))).status).toBe(202);
  world.elapse(wait * 1_000);
  expect((await post(world, busy)).status).toBe(202);
});

test("WEBHOOK_RATE_PER_MINUTE=0 switches the limit off", async () => {
  const free = await createWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: "0" } });
  try {
    const open = await createWebhook(free, await free.tenant("free"));
    free.statements.length = 0;
    await postPayload(free, open);
    expect(free.statements.filter((statement) => statement.includes('insert into "rate_counters"'))).toEqual([]);
  } finally {
    await free.close();
  }
});

test("a body of exactly the maximum size is accepted, and one byte more is refused", async () => {
  toNextMinute();
  expect((await post(world, webhook, "é".repeat(MAX_BYTES / 2))).status).toBe(202);
  const before = await stored();
  const refused = await post(world, webhook, `${"é".repeat(MAX_BYTES / 2)}x`);
  expect([refused.status, refused.body]).toEqual([413, TOO_LARGE]);
  expect(await stored()).toEqual(before);
});

test("a body whose Content-Length is too large is refused without reading it", async () => {
  toNextMinute();
  const headers = { "content-length": `${MAX_BYTES + 1}` };
  expect(await stream(webhook.endpoint_path, Buffer.from("x"), headers)).toEqual({ status: 413, body: TOO_LARGE, pulled: 0 });
});

test("a body without Content-Length or with a false one is counted as it arrives, and refused once it is too large", async () => {
  toNextMinute();
  const quarter = Buffer.alloc(MAX_BYTES / 4, "x");
  for (const headers of [{}, { "content-length": "1" }, { "content-length": "none" }] as Record<string, string>[])
    expect(await stream(webhook.endpoint_path, quarter, headers)).toEqual({ status: 413, body: TOO_LARGE, pulled: 5 });
});

test("a body that arrives in chunks is stored unchanged", async () => {
  toNextMinute();
  const answer = await stream(webhook.endpoint_path, Buffer.from("é😀 "));
  expect(answer.status).toBe(202);
  const { payload_id } = answer.body as { payload_id: string };
  expect((await readPayload(world, home, webhook, payload_id)).payload).toBe("é😀 ".repeat(10));
});

test("a post needs no credential, and an invalid one is neither checked nor stored", async () => {
  toNextMinute();
  for (const headers of [{ authorization: "Bearer nonsense" }, { authorization: "é" }, { "x-agent-token": "nonsense" }] as Record<
    string,
    string
  >[]) {
    world.statements.length = 0;
    const id = await postPayload(world, webhook, "{}", headers);
    expect(world.statements.filter((statement) => /agent_token|"users"/.test(statement))).toEqual([]);
    expect((await readPayload(world, home, webhook, id)).headers).toEqual({});
  }
});

test("the payload, the memory entry and the job of a post are stored together or not at all", async () => {
  toNextMinute();
  await world.db.execute(sql`alter table jobs add constraint no_jobs check (false) not valid`);
  const before = await stored();
  const failed = await post(world, webhook);
  expect([failed.status, failed.body]).toEqual([500, { detail: "Internal Server Error" }]);
  expect(await stored()).toEqual(before);
  await world.db.execute(sql`alter table jobs drop constraint no_jobs`);
  await postPayload(world, webhook);
  expect(await stored()).toEqual(before.map((count) => count + 1));
});

test("a webhook that is deleted while a body arrives stores nothing", async () => {
  const deletedWebhook = await createWebhook(world, home);
  const before = await stored();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await world.call("DELETE", deletedWebhook.endpoint_path, { token: home.owner.token });
        controller.enqueue(Buffer.from("{}"));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const response = await world.app.request(deletedWebhook.endpoint_path, { method: "POST", body, duplex: "half" } as RequestInit);
  expect([response.status, await response.json()]).toEqual([404, { detail: "Not Found" }]);
  expect(await stored()).toEqual(before);
});
