import { rowsOf } from "@board/core/db/database";
import { openNeon } from "@board/core/db/neon";
import { openPostgres } from "@board/core/db/postgres";
import type { Database } from "@board/core/db/database";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setup, setupWorld } from "../support/fixtures.ts";
import { startNeonProxy } from "../support/neon-proxy.ts";
import { startPostgres } from "../support/postgres.ts";
import { createWebhook, postPayload, readPayload } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";

const postgres = await setup(startPostgres());
const database = await setup(openPostgres(await postgres.createDatabase("values"), { log: silentLog }));
await database.migrate();
const world = await setupWorld({ database });
const home = await world.tenant("home");

test.each(["5", '"5"', "null", '{"a":1}', 5, 1.5, true, null, [], {}, [null, "[]"]])(
  "a PostgreSQL server returns a memory value as it was sent: %j",
  async (value) => {
    const path = `/api/v1/boards/${home.board_id}/memory`;
    const created = await world.call("POST", path, { token: home.owner.token, body: { key: "any", value } });
    expect(created.body.value).toEqual(value);
    const { items } = (await world.call("GET", path, { token: home.owner.token })).body;
    expect(items.find((entry: { id: string }) => entry.id === created.body.id)).toEqual(created.body);
  },
);

test("a PostgreSQL server returns the tags of a memory entry as they were sent", async () => {
  const tags = ["a,b", "{c}", 'say "d"', "back\\slash", "NULL", "", " e ", "ünï"];
  const created = await world.call("POST", `/api/v1/boards/${home.board_id}/memory`, {
    token: home.owner.token,
    body: { content: "tagged", tags },
  });
  expect(created.body.tags).toEqual(tags);
});

test.each([
  [
    "JSON",
    '{"n": 12345678901234567890, "s": "\\u0000\\ud800"}',
    { "content-type": "application/json", "x-a": 'quoted "text" \\ é' },
  ],
  ["text", "a\0b\\x41", {}],
  ["an empty body", "", {}],
] as [string, string, Record<string, string>][])(
  "a PostgreSQL server returns a payload as it was posted: %s",
  async (_what, body, headers) => {
    const webhook = await createWebhook(world, home);
    const payload = await readPayload(world, home, webhook, await postPayload(world, webhook, body, headers));
    expect(payload.answer.text).toContain(`"payload":${body.startsWith("{") ? body : JSON.stringify(body || {})},"headers":`);
    expect(payload.headers).toEqual(headers);
  },
);

describe("prepared statements", () => {
  const preparedStatements = async ({ db }: Database) =>
    rowsOf<{ statement: string }>(await db.execute(sql`select statement from pg_prepared_statements`)).map(
      ({ statement }) => statement,
    );
  const signIn = /^select .* from "agents" inner join "gateways"/;
  const open = (prepare: boolean) => openPostgres(postgres.url("values"), { max: 1, prepare, log: silentLog });

  test.each([
    ["a frequent statement is planned once per connection", { prepare: true, expected: true }],
    ["a frequent statement is planned each time behind a pooler that cannot keep it", { prepare: false, expected: false }],
  ])("%s", async (_name, { prepare, expected }) => {
    const database = open(prepare);
    const separate = await createWorld({ database });
    const { lead } = await separate.tenant(`prepared ${prepare}`);
    const ask = () => separate.call("GET", "/api/v1/agent/healthz", { agent: lead.token });
    for (let n = 0; n < 20; n++) expect((await ask()).status).toBe(200);
    expect((await preparedStatements(database)).some((statement) => signIn.test(statement))).toBe(expected);
    await separate.close();
    await database.close();
  });

  test("frequent statements are kept up to a limit, and statements executed once are not kept", async () => {
    const database = open(true);
    const execute = (n: number, times: number) =>
      Promise.all(Array.from({ length: times }, () => database.db.execute(sql.raw(`select ${n} as many`))));
    for (let n = 0; n < 400; n++) await execute(n, n % 2 === 0 ? 5 : 1);
    const before = await preparedStatements(database);
    expect(before).toContain("select 0 as many");
    expect(before).not.toContain("select 1 as many");
    for (let n = 1_000; n < 1_300; n++) await execute(n, 6);
    expect((await preparedStatements(database)).length).toBeLessThanOrEqual(300);
    expect(await execute(1_299, 1)).toMatchObject([{ rows: [{ many: 1_299 }] }]);
    await database.close();
  });

  test.each([true, false])("Neon's driver prepares a frequent statement only when prepare is on: %s", async (prepare) => {
    const proxy = await startNeonProxy({ port: postgres.port });
    const database = openNeon(postgres.url("values"), { max: 1, prepare, proxy: proxy.address, log: silentLog });
    for (let n = 0; n < 10; n++) await database.db.execute(sql`select 'frequent' as word`);
    expect((await preparedStatements(database)).includes("select 'frequent' as word")).toBe(prepare);
    await database.close();
    await proxy.stop();
  });
});

describe("a statement that the server refuses", () => {
  test.each([["node-postgres"], ["Neon's driver"]])(
    "a statement that the server refuses keeps its connection with %s, so that nothing is planned again",
    async (driver) => {
      const url = await postgres.createDatabase(`refused_${driver === "node-postgres" ? "pg" : "neon"}`);
      const proxy = driver === "node-postgres" ? null : await startNeonProxy({ port: postgres.port });
      const warnings: string[] = [];
      const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
      const database = proxy ? openNeon(url, { max: 1, proxy: proxy.address, log }) : openPostgres(url, { max: 1, log });
      const { db } = database;
      const pid = async () => rowsOf<{ pid: number }>(await db.execute(sql`select pg_backend_pid() as pid`))[0]!.pid;
      const before = await pid();
      await db.execute(sql`create table once (id int unique)`);
      await db.execute(sql`insert into once values (1)`);
      for (let n = 0; n < 3; n++) await expect(db.execute(sql`insert into once values (1)`)).rejects.toThrow("Failed query");
      expect(await pid()).toBe(before);
      expect(warnings).toEqual([]);
      await database.close();
      await proxy?.stop();
    },
  );
});
