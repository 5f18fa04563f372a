import { board_webhook_payloads } from "@board/core/schema/all-tables";
import type { ListedPayload, WebhookPayload } from "@board/core/webhook/payload";
import { expect, test } from "vitest";
import { createWebhook, postPayload, post, sentHeaders } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const webhook = await createWebhook(world, home);

const readAsAgent = (id: string, query = "") =>
  world.call("GET", `${webhook.endpoint_path.replace("/api/v1/", "/api/v1/agent/")}/payloads/${id}${query}`, {
    agent: home.worker.token,
  });

test("a payload shows its source, its time and its content", async () => {
  const before = world.now();
  const accepted = await post(world, webhook, '{"n":1}', {
    "content-type": "application/json",
    "user-agent": "Sender/1",
    "x-event": "push",
  });
  const id = accepted.body.payload_id;
  const read = await world.call("GET", `${webhook.endpoint_path}/payloads/${id}`, { token: home.owner.token });
  expect({ ...read.body, headers: sentHeaders(read.body.headers) }).toEqual({
    id,
    event_type: null,
    delivery_id: null,
    board_id: home.board_id,
    webhook_id: webhook.id,
    payload: { n: 1 },
    headers: { "content-type": "application/json", "user-agent": "Sender/1", "x-event": "push" },
    source_ip: "127.0.0.1",
    content_type: "application/json",
    received_at: read.body.received_at,
    delivery: expect.objectContaining({ status: "queued" }),
  });
  expect(read.body.received_at >= before.toISOString() && read.body.received_at <= world.now().toISOString()).toBe(true);
  expect((await readAsAgent(id.toUpperCase())).body).toEqual(read.body);
});

test("a payload is not found under another webhook of its board", async () => {
  const id = await postPayload(world, webhook);
  const other = await createWebhook(world, home);
  const path = `${other.endpoint_path}/payloads/${id}`;
  expect((await world.call("GET", path, { token: home.owner.token })).status).toBe(404);
  expect((await world.call("GET", path.replace("/api/v1/", "/api/v1/agent/"), { agent: home.lead.token })).status).toBe(404);
});

test("payloads of a webhook are listed newest first, in pages", async () => {
  const separate = await createWebhook(world, home);
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    ids.unshift(await postPayload(world, separate, `{"n":${n}}`));
    world.elapse(1_000);
  }
  await postPayload(world, webhook);
  const list = (query = "") => world.call("GET", `${separate.endpoint_path}/payloads${query}`, { token: home.owner.token });
  const whole = (await list()).body;
  expect(whole).toMatchObject({ total: 3, limit: 50, offset: 0 });
  expect(whole.items.map((payload: WebhookPayload) => payload.id)).toEqual(ids);
  expect((await list("?limit=1&offset=1")).body).toEqual({ items: [whole.items[1]], total: 3, limit: 1, offset: 1 });
  expect((await list("?offset=3")).body).toEqual({ items: [], total: 3, limit: 50, offset: 3 });
  for (const [query, name] of [
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["offset=-1", "offset"],
    ["offset=2147483648", "offset"],
  ])
    expect((await list(`?${query}`)).body.detail, query).toMatchObject([{ loc: ["query", name] }]);
});

const object = '{"text": "0123456789"}';
test.each([
  // The length of JSON is the length of its stored text.
  { body: object, max_chars: object.length, shown: object },
  { body: object, max_chars: object.length - 1, shown: JSON.stringify(`${object.slice(0, -4)}...`) },
  { body: object, max_chars: 4, shown: '"{..."' },
  { body: object, max_chars: 3, shown: '"{\\"t"' },
  { body: object, max_chars: 1, shown: '"{"' },
  { body: "[12345678901234567890]", max_chars: 22, shown: "[12345678901234567890]" },
  { body: "[12345678901234567890]", max_chars: 21, shown: '"[12345678901234567..."' },
  // The length of a JSON string is the length of its value.
  { body: '"0123456789"', max_chars: 10, shown: '"0123456789"' },
  { body: '"0123456789"', max_chars: 9, shown: '"012345..."' },
  { body: '"0123456789"', max_chars: 2, shown: '"01"' },
  { body: String.raw`"\u0061\u0062\u0063"`, max_chars: 3, shown: String.raw`"\u0061\u0062\u0063"` },
  { body: String.raw`"\u0061\u0062\u0063\u0064"`, max_chars: 3, shown: '"abc"' },
  { body: String.raw`"\n\n\n\n\n\n"`, max_chars: 5, shown: String.raw`"\n\n..."` },
  // The length of other text is counted the same way.
  { body: "plain text", max_chars: 10, shown: '"plain text"' },
  { body: "plain text", max_chars: 9, shown: '"plain ..."' },
  { body: "plain text", max_chars: 3, shown: '"pla"' },
  // A surrogate pair is never cut in half.
  { body: "ab😀defgh", max_chars: 6, shown: '"ab..."' },
  { body: "ab😀defgh", max_chars: 7, shown: '"ab😀..."' },
  { body: "ab😀defgh", max_chars: 3, shown: '"ab"' },
  { body: '"ab😀defgh"', max_chars: 6, shown: '"ab..."' },
  { body: '["😀😀😀"]', max_chars: 6, shown: String.raw`"[\"..."` },
])("max_chars=$max_chars shows the payload $body as $shown", async ({ body, max_chars, shown }) => {
  const read = await readAsAgent(await postPayload(world, webhook, body), `?max_chars=${max_chars}`);
  expect(read.text).toContain(`"payload":${shown},"headers"`);
});

test.each([
  ["0", "greater_than_equal"],
  ["1000001", "less_than_equal"],
  ["many", "int_type"],
  ["1.5", "int_type"],
])("a payload with max_chars=%s is refused", async (max_chars, type) => {
  const refused = await readAsAgent(await postPayload(world, webhook), `?max_chars=${max_chars}`);
  expect(refused.body.detail).toMatchObject([{ type, loc: ["query", "max_chars"] }]);
});

test("the whole payload is returned without max_chars and with the largest max_chars", async () => {
  const text = "x".repeat(30_000);
  const id = await postPayload(world, webhook, text);
  for (const query of ["", "?max_chars=1000000"]) expect((await readAsAgent(id, query)).body.payload).toBe(text);
});

const LARGEST_ANSWER = 6_000_000;

test.each([
  ["JSON", () => JSON.stringify({ text: "x".repeat(30_000) })],
  ["text of control characters", () => "\u0001".repeat(30_000)],
  ["JSON with invalid bytes", () => Buffer.concat([Buffer.from('"'), Buffer.alloc(30_000, 0xff), Buffer.from('"')])],
])("a list of large payloads shows previews with the path of the whole payload: %s", async (_kind, body) => {
  const separate = await createWebhook(world, home);
  const first = await post(world, separate, body() as string, { "content-type": "application/json" });
  const { id: _, ...stored } = (await world.db.select().from(board_webhook_payloads)).find(
    ({ id }) => id === first.body.payload_id,
  )!;
  await world.db.insert(board_webhook_payloads).values(Array.from({ length: 199 }, () => stored));
  for (const limit of [1, 50, 200]) {
    const list = await world.call("GET", `${separate.endpoint_path}/payloads?limit=${limit}`, { token: home.owner.token });
    expect([list.status, list.body.items.length, Buffer.byteLength(list.text) < LARGEST_ANSWER]).toEqual([200, limit, true]);
    const truncated: ListedPayload[] = list.body.items.filter((item: ListedPayload) => item.payload_truncated);
    expect(truncated.length).toBe(limit === 1 ? 0 : limit);
    const [preview] = truncated;
    if (!preview) continue;
    // Each control character takes six bytes, so a page of 200 payloads shows fewer than 4,000 characters of each.
    expect(preview.payload).toMatch(/^[^]{3000,4000}\.\.\.$/);
    const whole = await world.call("GET", preview.payload_path!, { token: home.owner.token });
    expect([whole.status, whole.body.id]).toEqual([200, preview.id]);
    expect(whole.text.length).toBeGreaterThan(30_000);
  }
});

test("a payload that fits into its share of the list is shown whole and is not marked as truncated", async () => {
  const separate = await createWebhook(world, home);
  await postPayload(world, separate, JSON.stringify({ text: "x".repeat(20_000) }));
  const list = await world.call("GET", `${separate.endpoint_path}/payloads`, { token: home.owner.token });
  expect(list.body.items[0].payload.text).toHaveLength(20_000);
  expect(Object.keys(list.body.items[0])).not.toContain("payload_truncated");
});
