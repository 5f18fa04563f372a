import { readdirSync } from "node:fs";
import { rowsOf } from "@board/core/db/database";
import { gateways, jobs, service_keys, subscriptions } from "@board/core/schema/all-tables";
import { runChecks } from "@board/local/doctor/run-checks";
import type { Finding } from "@board/local/doctor/finding";
import { DAY_MS } from "@board/core/values/time";
import { setup } from "../support/fixtures.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { listProblems, startDoctorFixture, describeFindings } from "./doctor-fixture.ts";
import { startPermissiveHost } from "./permissive-host.ts";
import { DIRECTORY, startFakeSoulsDirectory } from "../support/fake-souls-directory.ts";
import { type Sqs, startSqs } from "../support/sqs.ts";
import { TEST_KEYS } from "../support/world.ts";

const fixture = await setup(startDoctorFixture());
const { postgres, world, host, home, environment } = fixture;
// Autovacuum would use transaction ids, which one test counts.
await world.db.execute(sql`alter system set autovacuum = off`);
await world.db.execute(sql`select pg_reload_conf()`);

afterEach(async () => {
  await world.db.delete(jobs);
  await fixture.updateGateway({ url: host.url });
});

const runDoctor = (change: Record<string, string> = {}, ...more: Parameters<typeof runChecks>[1][]): Promise<Finding[]> =>
  runChecks({ ...environment, ...change }, ...more);

test("the doctor finds no problem in a healthy service and names every part of it", async () => {
  const findings = await runDoctor();
  expect(listProblems(findings)).toEqual([]);
  expect(findings.map(({ check, found }) => `${check}: ${found}`)).toEqual([
    "settings: all settings are valid (for a local server, postgres)",
    expect.stringMatching(/^database: PostgreSQL \d+\S* answers in [\d.]+ ms \(postgres\)$/),
    "schema: current",
    "jobs: 0 queued, 0 running; the oldest due job has waited 0 s",
    "retention: old rows are removed in time",
    `gateway home host: ${new URL(host.url).host} accepts this service: version 2026.2.9, protocol 3, all scopes`,
    "subscriptions: none are active",
    "push: the key is created when the first browser subscribes",
    expect.stringMatching(/^sign-in: 127\.0\.0\.1:\d+ has 1 key$/),
  ]);
});

test("the doctor changes no row and no file, and sends a host only the request `connect`", async () => {
  // Reading uses no transaction id.
  const next = () => world.db.execute(sql`select pg_snapshot_xmax(pg_current_snapshot())::text as id`).then(rowsOf);
  const rows = async () => [await world.db.select().from(gateways), await world.db.select().from(service_keys), await next()];
  const before = await rows();
  host.calls.length = 0;
  await runDoctor();
  expect(await rows()).toEqual(before);
  expect(host.calls.map(({ method }) => method)).toEqual(["connect"]);
  expect(readdirSync(environment["DATA_DIR"]!)).toEqual([]);
});

describe("the doctor's check of the settings", () => {
  test("every invalid setting is reported with its name and rule, and never with its value", async () => {
    const findings = await runDoctor({ PORT: "s3cret", LOG_LEVEL: "s3cret", ENCRYPTION_KEY: "s3cret", BASE_URL: "s3cret" });
    expect(describeFindings(findings, "settings")).toEqual([
      "wrong: PORT must be a whole number from 0 to 65535",
      "wrong: BASE_URL must be an absolute http or https URL",
      "wrong: ENCRYPTION_KEY must be 32 bytes in Base64",
      "wrong: LOG_LEVEL must be one of trace, debug, info, warn, error",
    ]);
    expect(JSON.stringify(findings)).not.toContain("s3cret");
    expect(describeFindings(findings, "schema"), "the remaining checks still run").toEqual(["ok: current"]);
  });

  test("settings that contradict each other are reported, and so are secrets that a Lambda lacks", async () => {
    expect(describeFindings(await runDoctor({ OIDC_ISSUER: "" }), "settings")).toEqual([
      "wrong: OIDC_ISSUER is required with AUTH_MODE=oidc",
    ]);
    const url = "http://127.0.0.1:9/000000000000/deliveries";
    const lacking = { QUEUE_URLS: `deliveries=${url}`, ENCRYPTION_KEY: "", TOKEN_PEPPER: "" };
    expect(describeFindings(await runDoctor(lacking), "settings")).toEqual([
      "wrong: ENCRYPTION_KEY is required",
      "wrong: TOKEN_PEPPER is required",
    ]);
  });

  test("skipped entries of TRUSTED_PROXIES are reported", async () => {
    expect(describeFindings(await runDoctor({ TRUSTED_PROXIES: "10.0.0.0/8, proxy.example" }), "settings")).toContain(
      "warning: TRUSTED_PROXIES has entries that are ignored",
    );
  });
});

describe("the doctor's check of the database", () => {
  const refusedConnection = expect.stringMatching(/^wrong: it does not answer: .*ECONNREFUSED/);
  test("a database that does not answer or does not exist is reported", async () => {
    const unreachable = await runDoctor({ DATABASE_URL: "postgres://postgres:s3cret@127.0.0.1:9/board" });
    expect(describeFindings(unreachable, "database")).toEqual([refusedConnection]);
    const twice = describeFindings(await runDoctor({ DATABASE_URL: "postgres://postgres:s3cret@localhost:9/board" }), "database");
    expect(twice, "also for a name with several addresses").toEqual([refusedConnection]);
    const neon = await runDoctor({ DATABASE_DRIVER: "neon", DATABASE_URL: "postgres://postgres:s3cret@127.0.0.1:9/board" });
    expect(describeFindings(neon, "database")).toContain("wrong: it does not answer: the connection failed");
    const missing = await runDoctor({ DATABASE_URL: postgres.url("nowhere") });
    expect(describeFindings(missing, "database")).toEqual(['wrong: it does not answer: database "nowhere" does not exist']);
    expect(JSON.stringify([unreachable, missing])).not.toMatch(/s3cret|postgres:postgres/);
  });

  test("a database without tables or with the tables of an older version is reported", async () => {
    const DATABASE_URL = await postgres.createDatabase("empty");
    expect(describeFindings(await runDoctor({ DATABASE_URL }), "schema")).toEqual(["wrong: there are no tables"]);
    const latest = sql`created_at = (select max(created_at) from drizzle.__drizzle_migrations)`;
    await world.db.execute(sql`create table backup as select * from drizzle.__drizzle_migrations where ${latest}`);
    await world.db.execute(sql`delete from drizzle.__drizzle_migrations where ${latest}`);
    const findings = await runDoctor();
    await world.db.execute(sql`insert into drizzle.__drizzle_migrations select * from backup`);
    expect(describeFindings(findings, "schema")).toEqual(["wrong: migrations of this version are missing"]);
  });

  test("dead jobs and jobs that no worker runs are reported", async () => {
    const job = { kind: "notice", payload: {}, max_attempts: 1 };
    const run_at = new Date(Date.now() - 20 * 60_000);
    await world.db.insert(jobs).values([
      { ...job, run_at },
      { ...job, run_at, status: "dead" },
    ]);
    expect(describeFindings(await runDoctor(), "jobs")).toEqual([
      "wrong: 1 queued, 0 running; the oldest due job has waited 20 min",
      "warning: 1 dead",
    ]);
  });

  test("rows that are still there although their retention ended yesterday are reported", async () => {
    const finished_at = new Date(Date.now() - 30.5 * DAY_MS);
    await world.db
      .insert(jobs)
      .values({ kind: "notice", payload: {}, max_attempts: 1, status: "dead", run_at: finished_at, finished_at });
    expect(describeFindings(await runDoctor(), "retention")).toEqual(["ok: old rows are removed in time"]);
    await world.db.update(jobs).set({ finished_at: new Date(Date.now() - 31.5 * DAY_MS) });
    expect(describeFindings(await runDoctor(), "retention")).toEqual(["warning: dead jobs have not been removed for a day"]);
  });

  test("the Neon host in DATABASE_URL must be the pooled one for Lambdas and the direct one for a server", async () => {
    const databaseFindings = async (name: string, more: Record<string, string> = {}) => {
      const DATABASE_URL = `postgres://u:p@${name}.invalid.neon.tech/board`;
      return describeFindings(await runDoctor({ DATABASE_URL, ...more }), "database");
    };
    // The host does not exist, so there is also a finding that it does not answer.
    const queues = { QUEUE_URLS: "deliveries=http://127.0.0.1:9/d" };
    const noAnswer = expect.stringMatching(/^wrong: it does not answer/);
    expect(await databaseFindings("ep-x-pooler", queues)).toEqual([noAnswer, "ok: pooled connection"]);
    expect(await databaseFindings("ep-x", queues)).toEqual([noAnswer, "warning: DATABASE_URL is the direct host"]);
    expect(await databaseFindings("ep-x-pooler")).toEqual([noAnswer, "warning: DATABASE_URL is the pooled host"]);
    expect(await databaseFindings("ep-x")).toEqual([noAnswer, "ok: direct connection"]);
  });
});

describe("the doctor's check of a gateway", () => {
  const gatewayFindings = async (change?: Record<string, string>) =>
    (await runDoctor(change)).filter(({ check }) => check === "gateway home host");

  test.each([
    ["is unreachable", { url: "ws://127.0.0.1:9" }, /ECONNREFUSED/, /firewall/],
    [
      "has another token",
      { token_sealed: null },
      /authentication failed|token/i,
      /token for this gateway again|openclaw devices approve/,
    ],
    ["was stored under another key", { token_sealed: Buffer.alloc(60) }, /another ENCRYPTION_KEY/, /Set ENCRYPTION_KEY/],
    ["has no usable address", { url: "gopher://nowhere" }, /url is not valid/, /address is right/],
  ])("a gateway that %s is reported with a remedy", async (_case, values, found, remedy) => {
    const { token_sealed } = (await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id)))[0]!;
    await fixture.updateGateway(values);
    const findings = await gatewayFindings();
    await fixture.updateGateway({ token_sealed });
    expect(findings).toEqual([
      { check: "gateway home host", state: "wrong", found: expect.stringMatching(found), remedy: expect.stringMatching(remedy) },
    ]);
  });

  test("a gateway at a private address that is not allowed is reported without connecting to it", async () => {
    host.calls.length = 0;
    expect(await gatewayFindings({ GATEWAY_ALLOWED_HOSTS: "" })).toMatchObject([
      {
        state: "wrong",
        found: expect.stringMatching(/is a private address$/),
        remedy: expect.stringContaining("GATEWAY_ALLOWED_HOSTS"),
      },
    ]);
    expect(host.calls).toEqual([]);
  });

  test("a receiver that subscriptions may not post to is reported by its host, without its path", async () => {
    const body = { url: "http://127.0.0.1:9/hooks/secret-path" };
    const { status, text } = await world.call("POST", "/api/v1/subscriptions", { token: home.owner.token, body });
    expect(status, text).toBe(200);
    const findings = async (change?: Record<string, string>) =>
      (await runDoctor(change)).filter(({ check }) => check === "subscriptions");
    expect(await findings()).toMatchObject([{ state: "ok" }]);
    const refused = await findings({ SUBSCRIPTION_ALLOWED_HOSTS: "" });
    expect(refused).toMatchObject([
      {
        state: "warning",
        found: expect.stringMatching(/^127\.0\.0\.1:9 is not a public https host/),
        remedy: expect.stringContaining("SUBSCRIPTION_ALLOWED_HOSTS"),
      },
    ]);
    expect(JSON.stringify(refused)).not.toContain("secret-path");
    await world.db.delete(subscriptions);
  });

  test("a gateway that has not paired the service is reported with the command that approves it", async () => {
    const remote = await startFakeGateway({ token: "test-token-123", remote: true });
    onTestFinished(() => remote.close());
    await fixture.updateGateway({ url: remote.url });
    const [finding, ...more] = await gatewayFindings();
    const [request] = [...remote.host.devices.pending.values()];
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      state: "wrong",
      found: expect.stringContaining("pairing required"),
      remedy: expect.stringContaining(`openclaw devices approve ${request!.requestId}`),
    });
  });

  test("a gateway that is too old or reports no version is reported", async () => {
    expect(await gatewayFindings({ GATEWAY_MIN_VERSION: "2026.5.7" })).toMatchObject([
      { state: "wrong", found: expect.stringContaining("at least 2026.5.7 is required") },
    ]);
    const unversioned = await startFakeGateway({ token: "test-token-123", version: "dev" });
    onTestFinished(() => unversioned.close());
    await fixture.updateGateway({ url: unversioned.url });
    expect(await gatewayFindings()).toMatchObject([{ state: "warning", found: "it reports the version dev" }]);
  });

  test("a gateway that grants too few scopes or has a wrong clock is reported", async () => {
    const misconfigured = await startPermissiveHost({ scopes: ["operator.read"], ahead_ms: -120_000 });
    onTestFinished(() => misconfigured.close());
    await fixture.updateGateway({ url: misconfigured.url });
    expect(describeFindings(await gatewayFindings(), "gateway")).toEqual([
      "wrong: it does not grant operator.admin, operator.approvals, operator.pairing",
      "wrong: its clock and that of this machine are 120 s apart (it is behind)",
    ]);
  });

  test("a gateway on another machine needs a BASE_URL that its agents can reach", async () => {
    const remote = await startPermissiveHost({ scopes: ["operator.admin"], ahead_ms: 0 });
    onTestFinished(() => remote.close());
    // The same machine under an address that is not a loopback address.
    await fixture.updateGateway({ url: remote.url.replace("127.0.0.1", "0.0.0.0") });
    const allowed = { GATEWAY_ALLOWED_HOSTS: "0.0.0.0" };
    expect(describeFindings(await gatewayFindings(allowed), "gateway")).toContain(
      "warning: its agents call http://127.0.0.1:8000, which another machine cannot reach",
    );
    expect(listProblems(await gatewayFindings({ ...allowed, BASE_URL: "https://board.example" }))).toEqual([]);
  });

  test("a gateway is not checked before the service has a device key, and the doctor creates none", async () => {
    const [key] = await world.db.delete(service_keys).returning();
    const findings = await gatewayFindings();
    expect(await world.db.select().from(service_keys)).toEqual([]);
    await world.db.insert(service_keys).values(key!);
    expect(findings).toMatchObject([{ state: "wrong", remedy: expect.stringContaining("Start the service once") }]);
  });

  test("a gateway is not checked when ENCRYPTION_KEY cannot decrypt the stored secrets", async () => {
    host.calls.length = 0;
    const findings = await runDoctor({ ENCRYPTION_KEY: TEST_KEYS.TOKEN_PEPPER });
    expect(listProblems(findings)).toMatchObject([
      { check: "device key", state: "wrong", found: expect.stringContaining("another ENCRYPTION_KEY") },
    ]);
    expect(host.calls).toEqual([]);
  });
});

test("the doctor reports an issuer whose keys cannot be read", async () => {
  expect(describeFindings(await runDoctor({ OIDC_JWKS_URL: "http://127.0.0.1:9/keys" }), "sign-in")).toEqual([
    expect.stringMatching(/^wrong: the keys of 127\.0\.0\.1:9 cannot be read: .*(ECONNREFUSED|fetch failed|bad port)/),
  ]);
});

test("the doctor warns when any token of the issuer is accepted", async () => {
  const accepted = "warning: any token of the issuer is accepted, even one that was issued for another service";
  expect(describeFindings(await runDoctor({ OIDC_AUDIENCE: "" }), "sign-in")).toContain(accepted);
  const limited = describeFindings(await runDoctor({ OIDC_AUDIENCE: "", OIDC_AUTHORIZED_PARTIES: "web" }), "sign-in");
  expect(limited).not.toContain(accepted);
});

test("the doctor warns when MCP clients cannot sign people in, because no audience is set", async () => {
  const refused = "warning: tokens of people are refused at /mcp, because their audience is not checked";
  for (const environment of [{ OIDC_AUDIENCE: "" }, { OIDC_AUDIENCE: "", OIDC_AUTHORIZED_PARTIES: "web" }])
    expect(describeFindings(await runDoctor(environment), "sign-in")).toContain(refused);
  expect(describeFindings(await runDoctor({}), "sign-in")).not.toContain(refused);
});

test("the doctor warns when e-mail addresses are accepted although nothing says that they are verified", async () => {
  const believed = "warning: e-mail addresses are trusted even when the issuer does not say that it verified them";
  expect(describeFindings(await runDoctor({ OIDC_REQUIRE_VERIFIED_EMAIL: "off" }), "sign-in")).toContain(believed);
  expect(describeFindings(await runDoctor({}), "sign-in")).not.toContain(believed);
});

test("the doctor checks the remote soul directory when one is configured", async () => {
  const remote = await startFakeSoulsDirectory();
  onTestFinished(() => remote.close());
  const souls = async () => describeFindings(await runDoctor({ SOULS_DIRECTORY_URL: DIRECTORY }, { web: remote.web }), "souls");
  expect(await souls()).toEqual(["wrong: souls.example has no sitemap (status 404)"]);
  remote.publish({ "ada/calm": "# Calm" });
  expect(await souls()).toEqual(["ok: souls.example lists 1 soul"]);
  remote.isDown = true;
  expect(await souls()).toEqual([expect.stringMatching(/^wrong: .+/)]);
});

describe("the doctor's check of the queues", () => {
  let sqs: Sqs;
  let queueSettings: Record<string, string>;
  beforeAll(async () => {
    sqs = await startSqs();
    const urls = [await sqs.create("deliveries", { deadLetters: "deliveries-dead" }), await sqs.create("syncs")];
    queueSettings = { QUEUE_URLS: `deliveries=${urls[0]},syncs=${urls[1]}` };
    // The SDK reads the endpoint of SQS from the environment of this process.
    Object.assign(process.env, sqs.env);
  });
  afterAll(async () => {
    for (const name of Object.keys(sqs.env)) delete process.env[name];
    await sqs.close();
  });

  test("queues are reported with their depth and dead letters, and a queue without a dead-letter queue is a warning", async () => {
    await sqs.send("deliveries", "{}");
    await sqs.send("deliveries-dead", "{}");
    expect(describeFindings(await runDoctor(queueSettings), "queue")).toEqual([
      "warning: 1 waiting, 0 in flight, 0 delayed; 1 dead letter",
      "warning: 0 waiting, 0 in flight, 0 delayed; it has no dead-letter queue",
    ]);
    await sqs.take("deliveries-dead");
    expect(describeFindings(await runDoctor(queueSettings), "queue deliveries")).toEqual([
      "ok: 1 waiting, 0 in flight, 0 delayed, no dead letters",
    ]);
  });

  test("a queue that does not exist is reported", async () => {
    const missing = { QUEUE_URLS: `deliveries=${sqs.url("nowhere")}` };
    expect(describeFindings(await runDoctor(missing), "queue nowhere")).toEqual([
      expect.stringMatching(/^wrong: the queue cannot be read: .+/),
    ]);
  });
});
