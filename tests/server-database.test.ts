import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import type { Database } from "@board/core/db/database";
import { silent } from "@board/core/log";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

describe("statements that come often", () => {
  const kept = async ({ db }: Database) =>
    rowsOf<{ statement: string }>(await db.execute(sql`select statement from pg_prepared_statements`)).map(
      ({ statement }) => statement,
    );
  const signIn = /^select .* from "agents" inner join "gateways"/;
  const open = (prepare: boolean) => openPostgres(postgres.url("values"), { max: 1, prepare, log: silent });

  test.each([
    { prepare: true, times: "planned once for a connection", expected: true },
    { prepare: false, times: "planned each time where the pooler cannot keep them", expected: false },
  ])("are $times", async ({ prepare, expected }) => {
    const own = open(prepare);
    const there = await createWorld({ database: own });
    const { owner, lead } = await there.tenant(`prepared ${prepare}`);
    const ask = () => there.call("GET", "/api/v1/agent/healthz", { agent: lead.token });
    for (let n = 0; n < 20; n++) expect((await ask()).status).toBe(200);
    // One plan for every range of time would not suit any.
    const look = () => there.call("GET", "/api/v1/metrics/dashboard", { token: owner.token });
    for (let n = 0; n < 10; n++) expect((await look()).status).toBe(200);
    expect((await kept(own)).filter((statement) => statement.includes("width_bucket"))).toEqual([]);
    expect((await kept(own)).some((statement) => signIn.test(statement))).toBe(expected);
    await there.close();
    await own.close();
  });

  test("are kept up to a number, and those that come once are not", async () => {
    const own = open(true);
    const ask = (n: number, times: number) =>
      Promise.all(Array.from({ length: times }, () => own.db.execute(sql.raw(`select ${n} as many`))));
    for (let n = 0; n < 400; n++) await ask(n, n % 2 === 0 ? 5 : 1);
    const before = await kept(own);
    expect(before).toContain("select 0 as many");
    expect(before).not.toContain("select 1 as many");
    for (let n = 1_000; n < 1_300; n++) await ask(n, 6);
    expect((await kept(own)).length).toBeLessThanOrEqual(300);
    expect(await ask(1_299, 1)).toMatchObject([{ rows: [{ many: 1_299 }] }]);
    await own.close();
  });
});
