import { openPostgres } from "@board/core/db/postgres";
import type { Database } from "@board/core/db/database";
import { silent } from "@board/core/log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postgres, startPostgres } from "./support/postgres.ts";
import { createWebhook, deposit, readPayload } from "./support/webhook.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let postgres: Postgres;
let database: Database;
let world: World;
let home: Tenant;

beforeAll(async () => {
  postgres = await startPostgres();
  database = openPostgres(await postgres.createDatabase("values"), { log: silent });
  await database.migrate();
  world = await createWorld({ database });
  home = await world.tenant("home");
}, 120_000);
afterAll(async () => {
  await world.close();
  await database.close();
  await postgres.stop();
});

test.each(["5", '"5"', "null", '{"a":1}', 5, 1.5, true, null, [], {}, [null, "[]"]])(
  "a memory value comes back from a PostgreSQL server as it was sent: %j",
  async (value) => {
    const path = `/api/v1/boards/${home.board_id}/memory`;
    const made = await world.call("POST", path, { token: home.owner.token, body: { key: "any", value } });
    expect(made.body.value).toEqual(value);
    const { items } = (await world.call("GET", path, { token: home.owner.token })).body;
    expect(items.find((entry: { id: string }) => entry.id === made.body.id)).toEqual(made.body);
  },
);

test("tags come back from a PostgreSQL server as they were sent", async () => {
  const tags = ["a,b", "{c}", 'say "d"', "back\\slash", "NULL", "", " e ", "ünï"];
  const made = await world.call("POST", `/api/v1/boards/${home.board_id}/memory`, {
    token: home.owner.token,
    body: { content: "tagged", tags },
  });
  expect(made.body.tags).toEqual(tags);
});

test.each([
  [
    "JSON",
    '{"n": 12345678901234567890, "s": "\\u0000\\ud800"}',
    { "content-type": "application/json", "x-a": 'quoted "text" \\ é' },
  ],
  ["text", "a\0b\\x41", {}],
  ["nothing", "", {}],
] as [string, string, Record<string, string>][])(
  "a payload comes back from a PostgreSQL server as it was posted: %s",
  async (_what, body, headers) => {
    const webhook = await createWebhook(world, home);
    const payload = await readPayload(world, home, webhook, await deposit(world, webhook, body, headers));
    expect(payload.answer.text).toContain(`"payload":${body.startsWith("{") ? body : JSON.stringify(body || {})},"headers":`);
    expect(payload.headers).toEqual(headers);
  },
);
