import type { Webhook } from "@board/core/webhook/webhook";
import type { WebhookPayload } from "@board/core/webhook/payload";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWebhook, deposit, post, sentHeaders } from "./support/webhook.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;
let webhook: Webhook;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
  webhook = await createWebhook(world, home);
});
afterAll(() => world.close());

const readAsAgent = (id: string, query = "") =>
  world.call("GET", `${webhook.endpoint_path.replace("/api/v1/", "/api/v1/agent/")}/payloads/${id}${query}`, {
    agent: home.worker.token,
  });

test("a payload says where it came from, when, and what it was", async () => {
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
    board_id: home.board_id,
    webhook_id: webhook.id,
    payload: { n: 1 },
    headers: { "content-type": "application/json", "user-agent": "Sender/1", "x-event": "push" },
    source_ip: "127.0.0.1",
    content_type: "application/json",
    received_at: read.body.received_at,
  });
  expect(read.body.received_at >= before.toISOString() && read.body.received_at <= world.now().toISOString()).toBe(true);
  expect((await readAsAgent(id.toUpperCase())).body).toEqual(read.body);
});

test("payloads are listed latest first, page by page, one webhook at a time", async () => {
  const own = await createWebhook(world, home);
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    ids.unshift(await deposit(world, own, `{"n":${n}}`));
    world.elapse(1_000);
  }
  await deposit(world, webhook);
  const list = (query = "") => world.call("GET", `${own.endpoint_path}/payloads${query}`, { token: home.owner.token });
  const whole = (await list()).body;
  expect(whole).toMatchObject({ total: 3, limit: 50, offset: 0 });
  expect(whole.items.map((one: WebhookPayload) => one.id)).toEqual(ids);
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
  // JSON is measured as the text that was stored.
  { body: object, max_chars: object.length, shown: object },
  { body: object, max_chars: object.length - 1, shown: JSON.stringify(`${object.slice(0, -4)}...`) },
  { body: object, max_chars: 4, shown: '"{..."' },
  { body: object, max_chars: 3, shown: '"{\\"t"' },
  { body: object, max_chars: 1, shown: '"{"' },
  { body: "[12345678901234567890]", max_chars: 22, shown: "[12345678901234567890]" },
  { body: "[12345678901234567890]", max_chars: 21, shown: '"[12345678901234567..."' },
  // A JSON string is measured as the text that it stands for.
  { body: '"0123456789"', max_chars: 10, shown: '"0123456789"' },
  { body: '"0123456789"', max_chars: 9, shown: '"012345..."' },
  { body: '"0123456789"', max_chars: 2, shown: '"01"' },
  { body: String.raw`"\u0061\u0062\u0063"`, max_chars: 3, shown: String.raw`"\u0061\u0062\u0063"` },
  { body: String.raw`"\u0061\u0062\u0063\u0064"`, max_chars: 3, shown: '"abc"' },
  { body: String.raw`"\n\n\n\n\n\n"`, max_chars: 5, shown: String.raw`"\n\n..."` },
  // So is any other text.
  { body: "plain text", max_chars: 10, shown: '"plain text"' },
  { body: "plain text", max_chars: 9, shown: '"plain ..."' },
  { body: "plain text", max_chars: 3, shown: '"pla"' },
  // Half of a surrogate pair is never left behind.
  { body: "ab😀defgh", max_chars: 6, shown: '"ab..."' },
  { body: "ab😀defgh", max_chars: 7, shown: '"ab😀..."' },
  { body: "ab😀defgh", max_chars: 3, shown: '"ab"' },
  { body: '"ab😀defgh"', max_chars: 6, shown: '"ab..."' },
  { body: '["😀😀😀"]', max_chars: 6, shown: String.raw`"[\"..."` },
])("max_chars $max_chars of $body shows $shown", async ({ body, max_chars, shown }) => {
  const read = await readAsAgent(await deposit(world, webhook, body), `?max_chars=${max_chars}`);
  expect(read.text).toContain(`"payload":${shown},"headers"`);
});

test.each([
  ["0", "greater_than_equal"],
  ["1000001", "less_than_equal"],
  ["many", "int_type"],
  ["1.5", "int_type"],
])("max_chars=%s is refused", async (max_chars, type) => {
  const refused = await readAsAgent(await deposit(world, webhook), `?max_chars=${max_chars}`);
  expect(refused.body.detail).toMatchObject([{ type, loc: ["query", "max_chars"] }]);
});

test("without max_chars, and with the largest, the whole payload comes", async () => {
  const text = "x".repeat(200_000);
  const id = await deposit(world, webhook, text);
  for (const query of ["", "?max_chars=1000000"]) expect((await readAsAgent(id, query)).body.payload).toBe(text);
});
