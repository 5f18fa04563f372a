import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { countActivity } from "@board/core/activity/count";
import { countNewEvents } from "@board/core/activity/counted-events";
import { activity_events, agents, board_webhooks, inbox_messages, users } from "@board/core/schema/all-tables";
import { type Database, rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { readHorizon } from "@board/core/stream/horizon";
import { eq, sql } from "drizzle-orm";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { setup, setupWorld } from "../support/fixtures.ts";
import { addEvents } from "../support/activity.ts";
import { blocksOf, copyRows, operatingDocument, runbook, consumeTransactionIds } from "./runbook-document.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";
import { seedSubscription } from "../support/seed-subscription.ts";
import { createWebhook } from "../support/webhook.ts";
import { createWorld, openTestDatabase, TEST_KEYS, type Tenant, type World } from "../support/world.ts";

const root = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const sources = (...patterns: string[]) => globSync(patterns, { cwd: root }).map(read).join("\n");
const headings = [...operatingDocument.matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!);
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

let tenants = 0;

const database = await setup(openTestDatabase());
const before = await setupWorld({ database });

const tenant = () => before.tenant(`tenant ${++tenants}`);

test("docs/operating.md has every section that an alarm names", () => {
  const named = [...sources("infra/*.ts").matchAll(/\bsection: "([^"]+)"/g)].map((match) => match[1]!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((section) => !operatingDocument.includes(`\n## ${section}\n`))).toEqual([]);
});

test("every command, file, section, log event, field and metric in docs/operating.md exists", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const commands = [...operatingDocument.matchAll(/npm (?:run )?(start|[\w:]+)/g)].map((match) => match[1]!);
  expect(commands.filter((command) => command !== "run" && !(command in scripts))).toEqual([]);
  const links = [...operatingDocument.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1]!);
  const anchors = headings.map(anchorOf);
  const leads = (link: string) =>
    link.startsWith("#") ? anchors.includes(link.slice(1)) : existsSync(path.join(root, "docs", link.split("#")[0]!));
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter((link) => !leads(link))).toEqual([]);

  const code = sources("packages/*/src/**/*.ts");
  const events = [...operatingDocument.matchAll(/`((?:http|jobs|webhook|schedule|stream|auth|health)\.\w+|unhandled)`/g)].map(
    (match) => match[1]!,
  );
  expect(events.length).toBeGreaterThan(10);
  expect([...new Set(events)].filter((event) => event !== "webhook.notify" && !code.includes(`"${event}"`))).toEqual([]);
  const queried = blocksOf("").join("\n");
  const filtered = [...queried.matchAll(/(?:event = |\[)((?:"[^"]+",? ?)+)/g)].flatMap(
    (match) => match[1]!.match(/[\w.]+/g) ?? [],
  );
  expect(filtered).toContain("webhook.accepted");
  expect(filtered.filter((event) => !code.includes(`"${event}"`))).toEqual([]);
  const fields = [...queried.matchAll(/^(?:fields|\| filter) (.+)$/gm)].flatMap(
    (match) => match[1]!.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [],
  );
  expect(fields).toContain("trace_id");
  expect(fields.filter((field) => !new RegExp(`\\b${field}\\b`).test(code))).toEqual([]);
  for (const metric of ["AuthFailures", "DeliveryAttempts", "IngestLag", "JobAge", "StreamHorizonAge", "SyncDuration"])
    expect(operatingDocument).toContain(`| \`${metric}\` |`);
});

test("every SQL statement in docs/operating.md can be executed", async () => {
  const blocks = blocksOf("sql");
  expect(blocks.length).toBeGreaterThan(8);
  for (const block of blocks)
    for (const statement of block.replaceAll(/^--.*$/gm, "").split(";"))
      if (statement.trim()) await database.db.execute(sql.raw(statement));
});

/** Executes the statements of a runbook one by one, as psql does. */
async function executeRunbook({ db }: Pick<World, "db">, comment: string): Promise<void> {
  for (const statement of runbook(comment)
    .replaceAll(/^--.*$/gm, "")
    .split(";"))
    if (statement.trim()) await db.execute(sql.raw(statement));
}

/** Starts a second service on the same database with other secrets. */
async function afterChange(environment: Record<string, string>): Promise<World> {
  const { issuer } = before.identities;
  const after = await createWorld({
    database,
    environment: { OIDC_ISSUER: issuer, OIDC_JWKS_URL: `${issuer}keys`, ...environment },
  });
  onTestFinished(() => after.close());
  return after;
}

test("after a change of TOKEN_PEPPER the runbook keeps every agent's token valid", async () => {
  const home = await tenant();
  const after = await afterChange({ TOKEN_PEPPER: TEST_KEYS.ENCRYPTION_KEY });
  const signIn = async () => (await after.call("GET", "/api/v1/agent/healthz", { agent: home.lead.token })).status;
  expect(await signIn()).toBe(401);
  await executeRunbook(after, "another pepper");
  expect([await signIn(), await signIn()]).toEqual([200, 200]);
});

test("after a change of TOKEN_PEPPER a key is refused until it is rotated, as the runbook says", async () => {
  const { token } = (await tenant()).owner;
  const made = await before.call("POST", "/api/v1/keys", { token, body: { name: "Report", access: "read" } });
  const after = await afterChange({ TOKEN_PEPPER: TEST_KEYS.ENCRYPTION_KEY });
  const read = async (key: string) => (await after.call("GET", "/api/v1/boards", { token: key })).status;
  expect(await read(made.body.key)).toBe(401);
  const rotated = await after.call("POST", `/api/v1/keys/${made.body.id}/rotate`, { token });
  expect(await read(rotated.body.key)).toBe(200);
});

test("the runbook for a leaked agent token stops that token and no other", async () => {
  const home = await tenant();
  const [, route] = /`POST (\/api\/v1\/agents\/\{agent_id\}\/token)`/.exec(operatingDocument)!;
  expect((await before.call("POST", route!.replace("{agent_id}", home.lead.id), home.owner)).status).toBe(200);
  const signIn = async (agent: string) => (await before.call("GET", "/api/v1/agent/healthz", { agent })).status;
  expect([await signIn(home.lead.token), await signIn(home.worker.token)]).toEqual([401, 200]);
});

test("the SQL for a new issuer moves every account of the old issuer and no other account", async () => {
  const after = await afterChange({ OIDC_ISSUER: "https://new.example.com/", OIDC_JWKS_URL: `${before.identities.issuer}keys` });
  const idOf = async (world: World, iss: string) => {
    const token = await before.identities.token("mover", { iss });
    return (await world.call("GET", "/api/v1/users/me", { token })).body.id;
  };
  const { issuer } = before.identities;
  const moved = await idOf(before, issuer);
  await before.db.insert(users).values({ auth_subject: "mover", auth_issuer: "https://third.example.com/" });
  await before.db.execute(sql.raw(runbook("a new issuer").replace("https://old.example.com/", issuer)));
  expect(await idOf(after, "https://new.example.com/")).toBe(moved);
  await before.db.update(users).set({ auth_issuer: issuer }).where(eq(users.auth_issuer, "https://new.example.com/"));
});

// This must be the last test on this database: its secrets belong to another key afterwards.
test("after a change of ENCRYPTION_KEY the runbook leaves no unreadable secret and no webhook that accepts unsigned posts", async () => {
  const home = await tenant();
  const after = await afterChange({ ENCRYPTION_KEY: TEST_KEYS.TOKEN_PEPPER });
  const { token } = home.owner;
  const signed = await createWebhook(before, home, { secret: "s3cret" });
  const unsigned = await createWebhook(before, home);
  await before.call("POST", "/api/v1/organizations/me/invites", {
    token,
    body: { invited_email: "new@example.com", role: "member" },
  });
  const push = "/api/v1/users/me/push";
  const { public_key } = (await before.call("GET", push, { token })).body;
  const paths = ["/api/v1/gateways", "/api/v1/organizations/me/invites", `/api/v1/boards/${home.board_id}/webhooks`, push];
  const statuses = async () => Promise.all(paths.map(async (url) => (await after.call("GET", url, { token })).status));
  expect(await statuses()).toEqual([200, 200, 200, 503]);
  await executeRunbook(after, "another key");
  expect(await statuses()).toEqual([200, 200, 200, 200]);
  expect((await after.call("GET", push, { token })).body.public_key).not.toBe(public_key);
  const posted = async (webhook: { endpoint_path: string }) =>
    (await after.call("POST", webhook.endpoint_path, { raw: "{}" })).status;
  expect([await posted(signed), await posted(unsigned)]).toEqual([410, 202]);

  const gateway = `/api/v1/gateways/${home.gateway_id}`;
  expect((await after.call("PATCH", gateway, { token, body: { token: "another-token-1" } })).body).toMatchObject({
    has_token: true,
  });
  const body = { secret: "another", enabled: true };
  expect((await after.call("PATCH", signed.endpoint_path, { token, body })).status).toBe(200);
  expect(await posted(signed)).toBe(403);
  expect((await after.db.select().from(board_webhooks)).map(({ enabled }) => enabled)).toEqual([true, true]);
});

/** Copies a database with many transactions into a new cluster. */
async function restored(): Promise<{ old: World; home: Tenant; world: World }> {
  const clusters: Postgres[] = [];
  const databases: Database[] = [];
  const worlds: World[] = [];
  const clients: pg.Client[] = [];
  onTestFinished(async () => {
    for (const client of clients) await client.end();
    for (const world of worlds) await world.close();
    for (const database of databases) await database.close();
    for (const cluster of clusters) await cluster.stop();
  });
  async function unsigned(environment: Record<string, string> = {}) {
    const cluster = await startPostgres();
    clusters.push(cluster);
    const url = await cluster.createDatabase("board");
    const database = openPostgres(url, { max: 4, log: silentLog });
    databases.push(database);
    await database.migrate();
    const client = new pg.Client(url);
    await client.connect();
    clients.push(client);
    const world = await createWorld({ database, environment });
    worlds.push(world);
    return { world, client };
  }
  const old = await unsigned();
  await consumeTransactionIds(old.client, 5_000);
  const home = await old.world.tenant("home");
  await addEvents(
    old.world,
    home,
    [1, 2, 3].map(() => ({ board_id: home.board_id })),
  );
  await countNewEvents(old.world.context());
  const { organization_id, board_id, lead, worker } = home;
  await old.world.db
    .insert(inbox_messages)
    .values({ organization_id, board_id, agent_id: lead.id, kind: "board.chat", text: "Unread" });
  await seedSubscription(old.world, home);
  await old.world.call("POST", "/api/v1/tasks", { token: home.owner.token, body: { board_id, title: "Task" } });
  const { task } = (await old.world.call("POST", "/api/v1/agent/tasks/next", { agent: worker.token, body: {} })).body;
  const steps = `/api/v1/agent/runs/${task.run.id}/steps`;
  await old.world.call("POST", steps, { agent: worker.token, body: { from: 0, steps: [{ kind: "message", text: "Hello" }] } });
  const { issuer } = old.world.identities;
  const fresh = await unsigned({ OIDC_ISSUER: issuer, OIDC_JWKS_URL: `${issuer}keys` });
  await copyRows(old.client, fresh.client);
  return { old: old.world, home, world: fresh.world };
}

/** Returns the columns of transaction ids that contain an id which the cluster has not used yet. */
async function listFutureRows({ db }: World): Promise<string[]> {
  const columns = rowsOf<{ table: string; column: string }>(
    await db.execute(sql`select table_name as table, column_name as column from information_schema.columns
      where table_schema = 'public' and data_type = 'xid8' order by 1`),
  );
  expect(columns.map(({ table }) => table)).toContain("inbox_messages");
  const future: string[] = [];
  for (const { table, column } of columns) {
    const isFuture = sql.raw(`${column} > pg_snapshot_xmax(pg_current_snapshot())`);
    const found = await db.execute(sql`select 1 from ${sql.identifier(table)} where ${isFuture} limit 1`);
    if (rowsOf(found).length > 0) future.push(`${table}.${column}`);
  }
  return future;
}

test("after a restore into another cluster, counts, streams and inboxes are wrong until the runbook corrects them", async () => {
  const { old, home, world } = await restored();
  const reported = () => countActivity(world.context(), [home.board_id], null);
  const actual = async () => world.db.$count(activity_events, eq(activity_events.board_id, home.board_id));
  const before = await countActivity(old.context(), [home.board_id], null);
  const { horizon } = await readHorizon(world.context());
  const [{ tx }] = rowsOf<{ tx: string }>(await world.db.execute(sql`select max(tx)::text as tx from activity_events`)) as [
    { tx: string },
  ];
  expect(BigInt(tx), "rows of the old cluster have transaction ids in the future").toBeGreaterThan(horizon);

  await addEvents(
    world,
    home,
    [1, 2].map(() => ({ board_id: home.board_id })),
  );
  expect([await reported(), await actual()], "new events count as already counted").toEqual([before, before + 2]);

  expect(await listFutureRows(world)).toContain("inbox_messages.tx");
  await executeRunbook(world, "another cluster");
  expect(await reported(), "read from the log").toBe(await actual());
  await countNewEvents(world.context());
  await addEvents(world, home, [{ board_id: home.board_id }]);
  await countNewEvents(world.context());
  expect(await reported(), "read from the counts").toBe(before + 3);

  // Streams and inboxes show only rows that do not lie in the future.
  const authorization = { token: home.owner.token };
  const path = `/api/v1/boards/${home.board_id}/memory`;
  await world.call("POST", path, { ...authorization, body: { content: "after" } });
  expect(await listFutureRows(world)).toEqual([]);
  const { body } = await world.call("GET", "/api/v1/agent/inbox", { agent: home.lead.token });
  expect(body.messages).toMatchObject([{ text: expect.stringContaining("Unread") }]);
  expect((await world.db.select().from(agents)).length).toBeGreaterThan(0);
});
