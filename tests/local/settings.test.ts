import { DEFAULT_BUDGETS } from "@board/core/config/budgets";
import { listMisspelt } from "@board/core/config/misspelt-settings";
import { describeRemoved } from "@board/core/config/removed-settings";
import { parseSettings, type Settings, SettingsError } from "@board/core/config/settings";
import { describe, expect, test } from "vitest";
import { TEST_KEYS } from "../support/world.ts";

const TOKEN = "t".repeat(50);
const local = { ...TEST_KEYS, LOCAL_AUTH_TOKEN: TOKEN };
const oidc = { ...TEST_KEYS, AUTH_MODE: "oidc", OIDC_ISSUER: "https://id.example/" };
const lambda = { ...oidc, DATABASE_URL: "postgres://db.example/board" };

/** Returns the error of a start with these settings, or an empty string when it succeeds. */
function refusal(environment: Record<string, string>, edge: "local" | "lambda" = "local"): string {
  try {
    parseSettings(environment, edge);
    return "";
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

test("a local server needs only its secrets as settings", () => {
  expect(parseSettings(local, "local")).toMatchObject<Partial<Settings>>({
    port: 8000,
    host: "127.0.0.1",
    data_dir: "./.data",
    database: { driver: "pglite", url: null },
    base_url: null,
    service_url: "http://127.0.0.1:8000",
    auth: { mode: "local", token: TOKEN },
    cors_origins: [],
    trusted_proxies: [],
    budgets: DEFAULT_BUDGETS,
    gateway_min_version: "2026.02.9",
    gateway_allowed_hosts: [],
    private_gateways_allowed: true,
    subscription_allowed_hosts: [],
    loopback_receivers_allowed: true,
    souls_directory_url: null,
    activity_readers: "admin",
    activity_retention_days: 0,
    board_events: false,
    prepared_statements: true,
    events_endpoint: null,
    security_headers: {
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "DENY",
      "Referrer-Policy": "strict-origin-when-cross-origin",
    },
    log_level: "info",
  });
});

test.each<[string, string, Partial<Settings>]>([
  ["PORT", " 0 ", { port: 0 }],
  ["PORT", "65535", { port: 65_535, service_url: "http://127.0.0.1:65535" }],
  ["HOST", "0.0.0.0", { host: "0.0.0.0", service_url: "http://0.0.0.0:8000" }],
  ["HOST", "::1", { host: "::1", service_url: "http://[::1]:8000" }],
  ["DATA_DIR", "/srv/data", { data_dir: "/srv/data" }],
  ["DATABASE_URL", "postgres://u:p@db/board", { database: { driver: "postgres", url: "postgres://u:p@db/board" } }],
  ["DATABASE_URL", "postgresql://db/board", { database: { driver: "postgres", url: "postgresql://db/board" } }],
  ["DATABASE_URL", "postgres://x.eu.neon.tech/b", { database: { driver: "neon", url: "postgres://x.eu.neon.tech/b" } }],
  ["BASE_URL", "https://board.example/", { base_url: "https://board.example", service_url: "https://board.example" }],
  ["BASE_URL", "http://10.0.0.1:8000/sub///", { base_url: "http://10.0.0.1:8000/sub" }],
  ["LOCAL_AUTH_TOKEN", `  ${TOKEN}x\n`, { auth: { mode: "local", token: `${TOKEN}x` } }],
  ["CORS_ORIGINS", " https://a.example ,,https://b.example", { cors_origins: ["https://a.example", "https://b.example"] }],
  ["TRUSTED_PROXIES", "10.0.0.0/8, ::1", { trusted_proxies: ["10.0.0.0/8", "::1"] }],
  ["WEBHOOK_MAX_PAYLOAD_BYTES", "1024", { budgets: { ...DEFAULT_BUDGETS, webhook_max_payload_bytes: 1_024 } }],
  ["WEBHOOK_RATE_PER_MINUTE", "0", { budgets: { ...DEFAULT_BUDGETS, webhook_rate_per_minute: 0 } }],
  ["AUTH_FAILURES_PER_MINUTE", "0", { budgets: { ...DEFAULT_BUDGETS, auth_failures_per_minute: 0 } }],
  [
    "LIMITS",
    "running_requests=64, max_connections=0,",
    { budgets: { ...DEFAULT_BUDGETS, running_requests: 64, max_connections: 0 } },
  ],
  ["GATEWAY_MIN_VERSION", "2026.5.7", { gateway_min_version: "2026.5.7" }],
  ["GATEWAY_MIN_VERSION", " ", { gateway_min_version: "" }],
  ["GATEWAY_ALLOWED_HOSTS", "gw.internal, 10.0.0.0/8", { gateway_allowed_hosts: ["gw.internal", "10.0.0.0/8"] }],
  ["SUBSCRIPTION_ALLOWED_HOSTS", "hooks.internal, ::1", { subscription_allowed_hosts: ["hooks.internal", "::1"] }],
  ["SOULS_DIRECTORY_URL", "https://souls.example/", { souls_directory_url: "https://souls.example" }],
  ["ACTIVITY_READERS", "member", { activity_readers: "member" }],
  ["ACTIVITY_RETENTION_DAYS", "90", { activity_retention_days: 90 }],
  ["AUDIT_RETENTION_DAYS", "30", { audit_retention_days: 30 }],
  ["RUN_STEPS_RETENTION_DAYS", "7", { run_steps_retention_days: 7 }],
  ["WEBHOOK_PAYLOAD_RETENTION_DAYS", "0", { webhook_payload_retention_days: 0 }],
  ["BOARD_EVENTS", "on", { board_events: true }],
  ["PREPARED_STATEMENTS", "off", { prepared_statements: false }],
  ["EVENTS_ENDPOINT", "http://127.0.0.1:4010/", { events_endpoint: "http://127.0.0.1:4010", board_events: true }],
  ["LOG_LEVEL", "trace", { log_level: "trace" }],
  ["AUTH_MODE", "", { auth: { mode: "local", token: TOKEN } }],
])("the setting %s=%j is accepted", (name, value, settings) => {
  expect(parseSettings({ ...local, [name]: value }, "local")).toMatchObject(settings);
});

describe("LISTEN and NOTIFY", () => {
  const isNotified = (more: Record<string, string>) => parseSettings({ ...oidc, ...more }, "local").database_notify;

  test.each([
    ["on", "postgres://u:p@db.example/board"],
    ["on", "postgres://u:p@db.example:5432/board?sslmode=require"],
    ["on", "postgres://u:p@db-pooler-7.example/board"],
    ["on", "postgres://u:p@db.my-pooler.example/board"],
    ["on", "postgres://u:p@db.example/board?pgbouncer=false"],
    ["on", "postgres://u:p@db.example/6432"],
    ["off", "postgres://u:p@ep-cool-name-pooler.eu.example/board"],
    ["off", "postgres://u:p@db-pooler/board"],
    ["off", "postgres://u:p@db.example:6432/board"],
    ["off", "postgres://u:p@aws-0-eu.pooler.example:6543/postgres"],
    ["off", "postgres://u:p@db.example/board?sslmode=require&pgbouncer=true"],
    ["off", "postgres://u:p@ep-cool-name.eu.neon.tech/board"],
  ])("are %s by default with the database %s", (expected, DATABASE_URL) => {
    expect(isNotified({ DATABASE_URL })).toBe(expected === "on");
  });

  test("DATABASE_NOTIFY takes precedence over the database URL, and PREPARED_STATEMENTS=off also switches LISTEN and NOTIFY off", () => {
    expect(isNotified({ DATABASE_URL: "postgres://db.example/board", DATABASE_NOTIFY: "off" })).toBe(false);
    expect(isNotified({ DATABASE_URL: "postgres://db.example:6432/board", DATABASE_NOTIFY: "on" })).toBe(true);
    expect(isNotified({ DATABASE_URL: "postgres://db.example/board", PREPARED_STATEMENTS: "off" })).toBe(false);
  });
});

test("a Lambda allows fewer open streams than a server process, because each stream occupies a sandbox", () => {
  const streamsOf = (edge: "local" | "lambda", more: Record<string, string> = {}) => {
    const { streams_per_caller, streams_per_organization } = parseSettings({ ...local, ...more }, edge).budgets;
    return [streams_per_caller, streams_per_organization];
  };
  expect(streamsOf("local")).toEqual([200, 1_000]);
  expect(streamsOf("lambda", { DATABASE_URL: "postgres://db/board" })).toEqual([10, 50]);
  expect(streamsOf("lambda", { DATABASE_URL: "postgres://db/board", STREAMS_PER_CALLER: "200" })).toEqual([200, 50]);
});

test.each([
  ["PORT", "s3cret"],
  ["PORT", "65536"],
  ["PORT", "-1"],
  ["PORT", "80.5"],
  ["DATABASE_URL", "mysql://user:s3cret@db/board"],
  ["DATABASE_URL", "s3cret"],
  ["DATABASE_DRIVER", "s3cret"],
  ["BASE_URL", "board.s3cret.example"],
  ["BASE_URL", "ftp://s3cret.example"],
  ["AUTH_MODE", "s3cret"],
  ["LOCAL_AUTH_TOKEN", "s3cret"],
  ["LOCAL_AUTH_TOKEN", "x".repeat(49)],
  ["LOCAL_AUTH_TOKEN", `${"x".repeat(49)}   `],
  ["LOCAL_AUTH_TOKEN", "change-me"],
  ["LOCAL_AUTH_TOKEN", "changeme"],
  ["LOCAL_AUTH_TOKEN", "Replace-Me"],
  ["LOCAL_AUTH_TOKEN", "replace-with-strong-random-token"],
  ["OIDC_ISSUER", "s3cret.example"],
  ["OIDC_JWKS_URL", "file:///s3cret"],
  ["WEBHOOK_MAX_PAYLOAD_BYTES", "1 MB"],
  ["WEBHOOK_MAX_PAYLOAD_BYTES", "-1"],
  ["WEBHOOK_RATE_PER_MINUTE", "s3cret"],
  ["WEBHOOK_RATE_PER_MINUTE", "1e3"],
  ["AUTH_FAILURES_PER_MINUTE", "many"],
  ["LIMITS", "s3cret"],
  ["LIMITS", "s3cret=1"],
  ["LIMITS", "running_requests="],
  ["LIMITS", "running_requests=s3cret"],
  ["LIMITS", "running_requests=1=2"],
  ["LIMITS", "answer_max_bytes=999999"],
  ["LIMITS", "streams_per_caller=1"],
  ["SOULS_DIRECTORY_URL", "s3cret"],
  ["SOULS_DIRECTORY_URL", "http://s3cret.example"],
  ["SOULS_DIRECTORY_URL", "https://user:s3cret@souls.example"],
  ["ENCRYPTION_KEY", "s3cret"],
  ["ENCRYPTION_KEY", Buffer.alloc(31).toString("base64")],
  ["ENCRYPTION_KEY", Buffer.alloc(33).toString("base64")],
  ["TOKEN_PEPPER", Buffer.alloc(16).toString("base64")],
  ["ACTIVITY_READERS", "everybody"],
  ["ACTIVITY_RETENTION_DAYS", "-7"],
  ["SECURITY_HEADER_X_FRAME_OPTIONS", "DENY\r\nSet-Cookie: s3cret=1"],
  ["SECURITY_HEADER_PERMISSIONS_POLICY", "caméra"],
  ["BOARD_EVENTS", "s3cret"],
  ["EVENTS_ENDPOINT", "s3cret"],
  ["LOG_LEVEL", "loud"],
])("the invalid setting %s=%j stops the start with one line that shows its name and not its value", (name, value) => {
  const message = refusal({ ...local, [name]: value });
  expect(message).toMatch(new RegExp(`^${name} .+$`));
  expect(message).not.toContain(value.trim());
  expect(message).not.toContain("s3cret");
});

test("all wrong settings are named at once, one per line, including those that depend on each other", () => {
  const wrong = { PORT: "s3cret", LOG_LEVEL: "s3cret", ENCRYPTION_KEY: "s3cret", DATABASE_DRIVER: "neon", LOCAL_AUTH_TOKEN: "" };
  expect(refusal({ ...local, ...wrong }).split("\n")).toEqual([
    "PORT must be a whole number from 0 to 65535",
    "ENCRYPTION_KEY must be 32 bytes in Base64",
    "LOG_LEVEL must be one of trace, debug, info, warn, error",
    "DATABASE_URL is required with DATABASE_DRIVER=neon",
    "LOCAL_AUTH_TOKEN is required with AUTH_MODE=local",
  ]);
});

test.each([
  ["DATABASE_ULR", "DATABASE_URL"],
  ["DATABSE_URL", "DATABASE_URL"],
  ["LOG_LEVL", "LOG_LEVEL"],
  ["CORS_ORIGIN", "CORS_ORIGINS"],
  ["WEBHOOK_RATE_PER_MINUTES", "WEBHOOK_RATE_PER_MINUTE"],
])("the misspelt setting %s is recognized as %s", (name, meant) => {
  expect(listMisspelt({ ...local, [name]: "s3cret" })).toEqual([{ name, meant }]);
});

test("a removed setting that is still set is named with what to do instead, and is not taken for a misspelt one", () => {
  const removed = {
    ORGANIZATION_TEXT_BYTES: "s3cret",
    DATABASE_STATEMENT_TIMEOUT_SECONDS: "s3cret",
    WEBHOOK_BODY_MIN_BYTES: " ",
  };
  expect(describeRemoved({ ...local, ...removed })).toEqual([
    "No longer a setting: ORGANIZATION_TEXT_BYTES. Set organization_text_bytes in LIMITS instead.",
    "No longer a setting: DATABASE_STATEMENT_TIMEOUT_SECONDS. The limit is 60 s.",
  ]);
  expect(refusal({ ...local, ...removed })).toBe("");
  expect(listMisspelt({ ...local, ...removed })).toEqual([]);
});

test("variables of other programs and settings that are set correctly are not taken for misspelt ones", () => {
  const others = { PATH: "/bin", HOME: "/", HOSTNAME: "box", PORTS: "1", HOSTS: "a", LOG_FORMAT: "json", PG_DATABASE_URL: "x" };
  expect(listMisspelt({ ...local, ...others })).toEqual([]);
  expect(listMisspelt({ ...local, CORS_ORIGINS: "https://a.example", CORS_ORIGIN: "https://b.example" })).toEqual([]);
  expect(listMisspelt({ [`${"X".repeat(100_000)}`]: "1", CORS_ORIGIN: " " })).toEqual([]);
});

describe("security headers", () => {
  const headersOf = (value: string) =>
    parseSettings({ ...local, SECURITY_HEADER_REFERRER_POLICY: value }, "local").security_headers;

  test("a blank security header setting means the default, and `off` in any letter case removes the header", () => {
    expect(headersOf("  ")["Referrer-Policy"]).toBe("strict-origin-when-cross-origin");
    expect(headersOf("no-referrer")["Referrer-Policy"]).toBe("no-referrer");
    for (const off of ["off", "OFF", " Off "]) expect(headersOf(off)).not.toHaveProperty("Referrer-Policy");
  });
});

describe("settings that depend on each other", () => {
  test("DATABASE_DRIVER can select Neon, and a driver requires DATABASE_URL", () => {
    const url = "postgres://proxy.example/board";
    expect(parseSettings({ ...local, DATABASE_URL: url, DATABASE_DRIVER: "neon" }, "local").database).toEqual({
      driver: "neon",
      url,
    });
    expect(refusal({ ...local, DATABASE_DRIVER: "neon" })).toMatch(/^DATABASE_URL .*required/);
  });

  test("AUTH_MODE=oidc requires OIDC_ISSUER and derives the URL of the keys from it", () => {
    expect(parseSettings(oidc, "local").auth).toEqual({
      mode: "oidc",
      issuer: "https://id.example/",
      jwks_url: "https://id.example/.well-known/jwks.json",
      audience: null,
      authorized_parties: [],
      require_verified_email: true,
      console: { client_id: null, scope: "openid profile email", origins: [] },
    });
    const origins = "https://login.example, https://token.example:8443";
    const signIn = { CONSOLE_OIDC_CLIENT_ID: "console", CONSOLE_OIDC_SCOPE: "openid", CONSOLE_OIDC_ORIGINS: origins };
    expect(parseSettings({ ...oidc, ...signIn }, "local").auth).toMatchObject({
      console: { client_id: "console", scope: "openid", origins: origins.split(", ") },
    });
    const hostile = { ...oidc, CONSOLE_OIDC_ORIGINS: "https://a.example; script-src *" };
    expect(() => parseSettings(hostile, "local")).toThrow("CONSOLE_OIDC_ORIGINS must be origins such as");
    const all = { OIDC_JWKS_URL: "https://keys.example/jwks", OIDC_AUDIENCE: "board", OIDC_AUTHORIZED_PARTIES: "web, cli" };
    expect(parseSettings({ ...oidc, ...all }, "local").auth).toMatchObject({
      jwks_url: "https://keys.example/jwks",
      audience: "board",
      authorized_parties: ["web", "cli"],
    });
    expect(refusal({ ...TEST_KEYS, AUTH_MODE: "oidc" })).toMatch(/^OIDC_ISSUER .*required/);
  });

  test.each(["ENCRYPTION_KEY", "TOKEN_PEPPER"])("%s is required on a server and on Lambda", (name) => {
    expect(refusal({ ...local, [name]: " " })).toBe(`${name} is required`);
    expect(refusal({ ...lambda, [name]: "" }, "lambda")).toBe(`${name} is required`);
  });

  test("a Lambda requires DATABASE_URL, and LOCAL_AUTH_TOKEN with AUTH_MODE=local", () => {
    expect(refusal(lambda, "lambda")).toBe("");
    expect(refusal({ ...lambda, DATABASE_URL: "" }, "lambda")).toMatch(/^DATABASE_URL .*required/);
    expect(refusal({ ...lambda, AUTH_MODE: "local" }, "lambda")).toMatch(/^LOCAL_AUTH_TOKEN .*required/);
    expect(refusal({ ...lambda, AUTH_MODE: "local", LOCAL_AUTH_TOKEN: TOKEN }, "lambda")).toBe("");
  });

  test("gateways at private addresses are allowed by default only with AUTH_MODE=local outside of Lambda", () => {
    const allowed = (environment: Record<string, string>, edge: "local" | "lambda") =>
      parseSettings(environment, edge).private_gateways_allowed;
    expect(allowed(local, "local")).toBe(true);
    expect(allowed(oidc, "local")).toBe(false);
    expect(allowed(lambda, "lambda")).toBe(false);
    expect(allowed({ ...lambda, AUTH_MODE: "local", LOCAL_AUTH_TOKEN: TOKEN }, "lambda")).toBe(false);
  });
});

test("WEBHOOK_BODY_STORAGE is a folder, or a bucket with a prefix and the address of its service", () => {
  const storageOf = (environment: Record<string, string>) => parseSettings({ ...local, ...environment }, "local").body_storage;
  expect(storageOf({})).toBeNull();
  expect(storageOf({ WEBHOOK_BODY_DAYS: "7" })).toBeNull();
  expect(storageOf({ WEBHOOK_BODY_STORAGE: "./bodies" })).toEqual({
    place: { kind: "folder", folder: "./bodies" },
    days: 30,
    min_bytes: 0,
  });
  const more = { AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9000", WEBHOOK_BODY_DAYS: "0" };
  expect(storageOf({ WEBHOOK_BODY_STORAGE: "s3://my-bucket/a/b/", ...more })).toEqual({
    place: { kind: "bucket", bucket: "my-bucket", prefix: "a/b/", endpoint: "http://127.0.0.1:9000" },
    days: 0,
    min_bytes: 16_384,
  });
  expect(storageOf({ WEBHOOK_BODY_STORAGE: "s3://my-bucket" })).toMatchObject({ place: { prefix: "", endpoint: null } });
});

test.each(["s3://", "s3://UPPER", "s3://bucket/../x", "https://bucket.example.com", "gs://bucket"])(
  "WEBHOOK_BODY_STORAGE=%s is refused",
  (place) => {
    expect(refusal({ ...local, WEBHOOK_BODY_STORAGE: place })).toBe(
      "WEBHOOK_BODY_STORAGE must be a folder or s3://bucket/prefix",
    );
  },
);

test("a folder as WEBHOOK_BODY_STORAGE is refused on Lambda, where it would be lost", () => {
  expect(refusal({ ...lambda, WEBHOOK_BODY_STORAGE: "./bodies" }, "lambda")).toContain("WEBHOOK_BODY_STORAGE must be s3://");
  expect(refusal({ ...lambda, WEBHOOK_BODY_STORAGE: "s3://bucket" }, "lambda")).toBe("");
});
