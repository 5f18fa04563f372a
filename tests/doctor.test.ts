import { readdirSync } from "node:fs";
import { rowsOf } from "@board/core/db/database";
import { gateways, jobs, service_keys } from "@board/core/db/schema";
import { examine } from "@board/local/doctor/examine";
import type { Finding } from "@board/local/doctor/finding";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bad, type Patient, startPatient, told } from "./support/doctor.ts";
import { startOddHost } from "./support/odd-host.ts";
import type { Postgres } from "./support/postgres.ts";
import { DIRECTORY, startRemoteSouls } from "./support/remote-souls.ts";
import { type Sqs, startSqs } from "./support/sqs.ts";
import { TEST_KEYS, type Tenant, type World } from "./support/world.ts";

let patient: Patient;
let postgres: Postgres;
let world: World;
let host: FakeGateway;
let home: Tenant;
let environment: Record<string, string>;

beforeAll(async () => {
  patient = await startPatient();
  ({ postgres, world, host, home, environment } = patient);
  // Vacuums take transaction ids, which one test counts.
  await world.db.execute(sql`alter system set autovacuum = off`);
  await world.db.execute(sql`select pg_reload_conf()`);
}, 60_000);
afterAll(() => patient.close());
afterEach(async () => {
  await world.db.delete(jobs);
  await patient.setHost({ url: host.url });
});

async function look(change: Record<string, string> = {}, ...more: Parameters<typeof examine>[1][]): Promise<Finding[]> {
  return examine({ ...environment, ...change }, ...more);
}

test("a service in order has nothing to mend, and every part of it is named", async () => {
  const findings = await look();
  expect(bad(findings)).toEqual([]);
  expect(findings.map(({ check, found }) => `${check}: ${found}`)).toEqual([
    "settings: all are usable (as for a local server, postgres)",
    expect.stringMatching(/^database: PostgreSQL \d+\S* answers in [\d.]+ ms \(postgres\)$/),
    "schema: that of this version",
    "jobs: 0 queued, 0 running; the oldest that could be done has waited 0 s",
    `gateway home host: ${new URL(host.url).host} lets this service in: version 2026.2.9, protocol 3, all scopes`,
    expect.stringMatching(/^sign-in: 127\.0\.0\.1:\d+ names 1 key$/),
  ]);
});

test("it changes nothing: no row, no file, and to hosts it says no more than hello", async () => {
  // Who only reads takes no transaction id.
  const next = () => world.db.execute(sql`select pg_snapshot_xmax(pg_current_snapshot())::text as id`).then(rowsOf);
  const rows = async () => [await world.db.select().from(gateways), await world.db.select().from(service_keys), await next()];
  const before = await rows();
  host.calls.length = 0;
  await look();
  expect(await rows()).toEqual(before);
  expect(host.calls.map(({ method }) => method)).toEqual(["connect"]);
  expect(readdirSync(environment["DATA_DIR"]!)).toEqual([]);
});

describe("settings", () => {
  test("that are wrong are all told, by name and rule and never by value", async () => {
    const findings = await look({ PORT: "s3cret", LOG_LEVEL: "s3cret", ENCRYPTION_KEY: "s3cret", BASE_URL: "s3cret" });
    expect(told(findings, "settings")).toEqual([
      "wrong: PORT must be a whole number from 0 to 65535",
      "wrong: BASE_URL must be an absolute http or https URL",
      "wrong: ENCRYPTION_KEY must be 32 bytes in Base64",
      "wrong: LOG_LEVEL must be one of trace, debug, info, warn, error",
    ]);
    expect(JSON.stringify(findings)).not.toContain("s3cret");
    expect(told(findings, "schema"), "what can still be looked at is").toEqual(["ok: that of this version"]);
  });

  test("that do not go together are told, and secrets that only a local server makes are missed on Lambda", async () => {
    expect(told(await look({ OIDC_ISSUER: "" }), "settings")).toEqual(["wrong: OIDC_ISSUER is required with AUTH_MODE=oidc"]);
    const url = "http://127.0.0.1:9/000000000000/deliveries";
    const lacking = { DELIVERIES_QUEUE_URL: url, ENCRYPTION_KEY: "", TOKEN_PEPPER: "" };
    expect(told(await look(lacking), "settings")).toEqual([
      "wrong: ENCRYPTION_KEY is required",
      "wrong: TOKEN_PEPPER is required",
    ]);
  });

  test("skipped proxies are told", async () => {
    expect(told(await look({ TRUSTED_PROXIES: "10.0.0.0/8, proxy.example" }), "settings")).toContain(
      "warning: TRUSTED_PROXIES has entries that are skipped",
    );
  });
});

describe("the database", () => {
  test("that does not answer, or is another one, is told with what to check", async () => {
    const gone = await look({ DATABASE_URL: "postgres://postgres:s3cret@127.0.0.1:9/board" });
    expect(told(gone, "database")).toEqual([expect.stringMatching(/^wrong: it does not answer: .*ECONNREFUSED/)]);
    const twice = told(await look({ DATABASE_URL: "postgres://postgres:s3cret@localhost:9/board" }), "database");
    expect(twice, "also by a name of several addresses").toEqual([
      expect.stringMatching(/^wrong: it does not answer: .*ECONNREFUSED/),
    ]);
    const missing = await look({ DATABASE_URL: postgres.url("nowhere") });
    expect(told(missing, "database")).toEqual(['wrong: it does not answer: database "nowhere" does not exist']);
    expect(JSON.stringify([gone, missing])).not.toMatch(/s3cret|postgres:postgres/);
  });

  test("without tables, or with those of an older version, is told", async () => {
    const DATABASE_URL = await postgres.createDatabase("empty");
    expect(told(await look({ DATABASE_URL }), "schema")).toEqual(["wrong: there are no tables"]);
    const latest = sql`created_at = (select max(created_at) from drizzle.__drizzle_migrations)`;
    await world.db.execute(sql`create table kept as select * from drizzle.__drizzle_migrations where ${latest}`);
    await world.db.execute(sql`delete from drizzle.__drizzle_migrations where ${latest}`);
    const findings = await look();
    await world.db.execute(sql`insert into drizzle.__drizzle_migrations select * from kept`);
    expect(told(findings, "schema")).toEqual(["wrong: migrations of this version are missing"]);
  });

  test("tells of dead jobs and of those that nobody takes up", async () => {
    const job = { kind: "notice", payload: {}, max_attempts: 1 };
    const run_at = new Date(Date.now() - 20 * 60_000);
    await world.db.insert(jobs).values([
      { ...job, run_at },
      { ...job, run_at, status: "dead" },
    ]);
    expect(told(await look(), "jobs")).toEqual([
      "wrong: 1 queued, 0 running; the oldest that could be done has waited 20 min",
      "warning: 1 dead",
    ]);
  });

  test("of Neon is asked for by the host that suits whoever asks", async () => {
    const about = async (name: string, more: Record<string, string> = {}) => {
      const DATABASE_URL = `postgres://u:p@${name}.invalid.neon.tech/board`;
      return told(await look({ DATABASE_URL, ...more }), "database");
    };
    // There is no such host, so that it is not all that is told.
    const queues = { DELIVERIES_QUEUE_URL: "http://127.0.0.1:9/d" };
    const silent = expect.stringMatching(/^wrong: it does not answer/);
    expect(await about("ep-x-pooler", queues)).toEqual([silent, "ok: pooled connection"]);
    expect(await about("ep-x", queues)).toEqual([silent, "warning: DATABASE_URL is the direct host"]);
    expect(await about("ep-x-pooler")).toEqual([silent, "warning: DATABASE_URL is the pooled host"]);
    expect(await about("ep-x")).toEqual([silent, "ok: direct connection"]);
  });
});

describe("a gateway", () => {
  const gatewayFindings = async (change?: Record<string, string>) =>
    (await look(change)).filter(({ check }) => check === "gateway home host");

  test.each([
    ["is away", { url: "ws://127.0.0.1:9" }, /ECONNREFUSED/, /firewall/],
    [
      "has another token",
      { token_sealed: null },
      /authentication failed|token/i,
      /token for this gateway again|openclaw devices approve/,
    ],
    ["was stored under another key", { token_sealed: Buffer.alloc(60) }, /another ENCRYPTION_KEY/, /Set ENCRYPTION_KEY/],
    ["has no usable address", { url: "gopher://nowhere" }, /url is not valid/, /address is right/],
  ])("that %s is told with its remedy", async (_case, values, found, remedy) => {
    const { token_sealed } = (await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id)))[0]!;
    await patient.setHost(values);
    const findings = await gatewayFindings();
    await patient.setHost({ token_sealed });
    expect(findings).toEqual([
      { check: "gateway home host", state: "wrong", found: expect.stringMatching(found), remedy: expect.stringMatching(remedy) },
    ]);
  });

  test("at a private address that is not allowed is told, and not dialled", async () => {
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

  test("on which the service is not paired is told with the command that approves it", async () => {
    const remote = await startFakeGateway({ token: "test-token-123", remote: true });
    onTestFinished(() => remote.close());
    await patient.setHost({ url: remote.url });
    const [finding, ...more] = await gatewayFindings();
    const [request] = [...remote.host.devices.pending.values()];
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      state: "wrong",
      found: expect.stringContaining("pairing required"),
      remedy: expect.stringContaining(`openclaw devices approve ${request!.requestId}`),
    });
  });

  test("that is too old, or does not tell its version, is told", async () => {
    expect(await gatewayFindings({ GATEWAY_MIN_VERSION: "2026.5.7" })).toMatchObject([
      { state: "wrong", found: expect.stringContaining("at least 2026.5.7 is required") },
    ]);
    const odd = await startFakeGateway({ token: "test-token-123", version: "dev" });
    onTestFinished(() => odd.close());
    await patient.setHost({ url: odd.url });
    expect(await gatewayFindings()).toMatchObject([{ state: "warning", found: "it reports the version dev" }]);
  });

  test("that grants too little, or whose clock is off, is told", async () => {
    const odd = await startOddHost({ scopes: ["operator.read"], ahead_ms: -120_000 });
    onTestFinished(() => odd.close());
    await patient.setHost({ url: odd.url });
    expect(told(await gatewayFindings(), "gateway")).toEqual([
      "wrong: it does not grant operator.admin, operator.approvals, operator.pairing",
      "wrong: its clock and that of this machine are 120 s apart (it is behind)",
    ]);
  });

  test("elsewhere needs a public address of the service, for its agents to call back", async () => {
    const elsewhere = await startOddHost({ scopes: ["operator.admin"], ahead_ms: 0 });
    onTestFinished(() => elsewhere.close());
    // The same machine by an address that is not loopback's.
    await patient.setHost({ url: elsewhere.url.replace("127.0.0.1", "0.0.0.0") });
    const allowed = { GATEWAY_ALLOWED_HOSTS: "0.0.0.0" };
    expect(told(await gatewayFindings(allowed), "gateway")).toContain(
      "warning: its agents are told to call http://127.0.0.1:8000, which another machine cannot reach",
    );
    expect(bad(await gatewayFindings({ ...allowed, BASE_URL: "https://board.example" }))).toEqual([]);
  });

  test("cannot be dialled before the service has an identity; the doctor makes none", async () => {
    const [key] = await world.db.delete(service_keys).returning();
    const findings = await gatewayFindings();
    expect(await world.db.select().from(service_keys)).toEqual([]);
    await world.db.insert(service_keys).values(key!);
    expect(findings).toMatchObject([{ state: "wrong", remedy: expect.stringContaining("Start the service once") }]);
  });

  test("is not dialled with another ENCRYPTION_KEY than the database was written with", async () => {
    host.calls.length = 0;
    const findings = await look({ ENCRYPTION_KEY: TEST_KEYS.TOKEN_PEPPER });
    expect(bad(findings)).toMatchObject([
      { check: "device key", state: "wrong", found: expect.stringContaining("another ENCRYPTION_KEY") },
    ]);
    expect(host.calls).toEqual([]);
  });
});

test("an issuer whose keys cannot be read is told", async () => {
  expect(told(await look({ OIDC_JWKS_URL: "http://127.0.0.1:9/keys" }), "sign-in")).toEqual([
    expect.stringMatching(/^wrong: the keys of 127\.0\.0\.1:9 cannot be read: .*(ECONNREFUSED|fetch failed|bad port)/),
  ]);
});

test("the remote directory of souls is looked at when there is one", async () => {
  const remote = await startRemoteSouls();
  onTestFinished(() => remote.close());
  const souls = async () => told(await look({ SOULS_DIRECTORY_URL: DIRECTORY }, { web: remote.web }), "souls");
  expect(await souls()).toEqual(["wrong: souls.example has no sitemap (status 404)"]);
  remote.publish({ "ada/calm": "# Calm" });
  expect(await souls()).toEqual(["ok: souls.example names 1 soul"]);
  remote.down = true;
  expect(await souls()).toEqual([expect.stringMatching(/^wrong: .+/)]);
});

describe("queues", () => {
  let sqs: Sqs;
  let named: Record<string, string>;
  beforeAll(async () => {
    sqs = await startSqs();
    named = {
      DELIVERIES_QUEUE_URL: await sqs.create("deliveries", { deadLetters: "deliveries-dead" }),
      SYNCS_QUEUE_URL: await sqs.create("syncs"),
    };
    // The SDK reads where SQS is from the process's own environment.
    Object.assign(process.env, sqs.env);
  });
  afterAll(async () => {
    for (const name of Object.keys(sqs.env)) delete process.env[name];
    await sqs.close();
  });

  test("are told with their depth and dead letters; one without a place for those too", async () => {
    await sqs.send("deliveries", "{}");
    await sqs.send("deliveries-dead", "{}");
    expect(told(await look(named), "queue")).toEqual([
      "warning: 1 waiting, 0 being worked on, 0 put off; 1 dead letter",
      "warning: 0 waiting, 0 being worked on, 0 put off; it has no dead-letter queue",
    ]);
    await sqs.take("deliveries-dead");
    expect(told(await look(named), "queue deliveries")).toEqual(["ok: 1 waiting, 0 being worked on, 0 put off, no dead letters"]);
  });

  test("that are not there are told", async () => {
    const gone = { DELIVERIES_QUEUE_URL: sqs.url("nowhere") };
    expect(told(await look(gone), "queue nowhere")).toEqual([expect.stringMatching(/^wrong: it cannot be looked at: .+/)]);
  });
});
