import type { KeyObject } from "node:crypto";
import * as z from "zod";
import { type BodyStorageSettings, bodyStorageSettings, toBodyStorage } from "./body-storage-settings.ts";
import { budgetSettings, toBudgets } from "./budget-settings.ts";
import type { Budgets } from "./budgets.ts";
import type { DatabaseTimeouts } from "./db/pool.ts";
import { listMissing, toProblem, type Variables, withoutBlanks } from "./setting-problems.ts";
import { base64Key, commaSeparated, httpUrl, httpsUrl, issuer, optionalHeader, origins, wholeNumber } from "./setting-types.ts";
import { trimEndOf } from "./text.ts";

const FORBIDDEN_TOKENS = ["change-me", "changeme", "replace-me", "replace-with-strong-random-token"];
const MIN_LOCAL_TOKEN = 50;

/** For schemas of settings. Zod otherwise compiles them first, which takes longer than to read the settings of a process. */
export const PARSED_ONCE = { jitless: true };

/** All settings of the service (docs/reference/conventions.md#settings). A blank value counts as unset. */
export const Environment = z.object({
  PORT: wholeNumber(8000, 65_535).describe("Port of the local server; 0 chooses a free port."),
  HOST: z.string().default("127.0.0.1").describe("Address of the local server."),
  DATA_DIR: z.string().default("./.data").describe("Folder of the embedded database and of generated secrets."),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "must be a postgres:// URL")
    .optional()
    .meta({ rule: "postgres:// or postgresql:// URL", secret: true })
    .describe("PostgreSQL or Neon database; when unset, the embedded database in DATA_DIR. Required on Lambda."),
  DATABASE_DRIVER: z
    .enum(["pglite", "postgres", "neon"])
    .optional()
    .describe("Database driver; chosen by DATABASE_URL when unset."),
  PREPARED_STATEMENTS: z
    .enum(["on", "off"])
    .default("on")
    .describe("Whether frequent statements are prepared. Use `off` with a pooler that does not support prepared statements."),
  DATABASE_CONNECT_TIMEOUT_SECONDS: wholeNumber(10, 300).describe(
    "Longest wait for a database connection, also for a free one of the process; 0 = no limit.",
  ),
  DATABASE_STATEMENT_TIMEOUT_SECONDS: wholeNumber(60, 86_400).describe(
    "Longest run of an SQL statement, except in migrations; 0 = no limit. Not for the embedded database.",
  ),
  DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS: wholeNumber(60, 86_400).describe(
    "Time after which the server ends a transaction without statements; 0 = no limit. Not for the embedded database.",
  ),
  BASE_URL: httpUrl.optional().describe("Public URL of the service, used in links and in files of agents."),
  STREAM_URL: httpUrl.optional().describe("Public URL of the streams when it differs from BASE_URL."),
  AUTH_MODE: z.enum(["local", "oidc"]).default("local").describe("How users sign in."),
  LOCAL_AUTH_TOKEN: z
    .string()
    .refine((text) => !FORBIDDEN_TOKENS.includes(text.toLowerCase()), { error: "must not be a placeholder" })
    .min(MIN_LOCAL_TOKEN, `must have at least ${MIN_LOCAL_TOKEN} characters`)
    .optional()
    .meta({ rule: `at least ${MIN_LOCAL_TOKEN} characters, no placeholder`, secret: true })
    .describe("Shared token of local mode. A local server generates one; required on Lambda in local mode."),
  OIDC_ISSUER: issuer.optional().describe("Issuer of user tokens, exactly as in their `iss` claim. Required in oidc mode."),
  OIDC_JWKS_URL: httpUrl.optional().describe("URL of the issuer's keys; the issuer's /.well-known/jwks.json when unset."),
  OIDC_AUDIENCE: z.string().optional().describe("Required `aud` claim; not checked when unset."),
  OIDC_AUTHORIZED_PARTIES: commaSeparated.describe("Allowed `azp` claims, comma-separated; not checked when unset."),
  CONSOLE_OIDC_CLIENT_ID: z
    .string()
    .optional()
    .describe(
      "Client id of the console at the issuer: a public client with PKCE. Without it, people cannot sign in to the console.",
    ),
  CONSOLE_OIDC_SCOPE: z.string().default("openid profile email").describe("Scopes for which the console asks the issuer."),
  CONSOLE_OIDC_ORIGINS: origins.describe(
    "Origins of the issuer's token endpoint when they differ from the issuer's own, comma-separated.",
  ),
  CORS_ORIGINS: commaSeparated.describe("Allowed origins of browser clients, comma-separated."),
  TRUSTED_PROXIES: commaSeparated.describe("Addresses or CIDRs of proxies whose X-Forwarded-For header is trusted."),
  ...budgetSettings,
  GATEWAY_MIN_VERSION: z.string().default("2026.02.9").describe("Oldest host version that is fully supported."),
  GATEWAY_ALLOWED_HOSTS: commaSeparated.describe("Private host names, addresses or CIDRs that gateways may use."),
  SOULS_DIRECTORY_URL: httpsUrl.optional().describe("URL of a remote souls directory; the built-in directory when unset."),
  ENCRYPTION_KEY: base64Key.describe("Encrypts secrets in the database. A local server generates one."),
  TOKEN_PEPPER: base64Key.describe("HMAC key of the digests by which agent tokens are found. A local server generates one."),
  ACTIVITY_READERS: z.enum(["admin", "member"]).default("admin").describe("Least role that may read the activity list."),
  ACTIVITY_RETENTION_DAYS: wholeNumber(0, 36_500).describe(
    "Days for which activity events other than comments are kept, 0 = forever.",
  ),
  CHANGES_RETENTION_DAYS: wholeNumber(7, 365).describe("Days for which entries of the changes feed are kept, 0 = forever."),
  WEBHOOK_PAYLOAD_RETENTION_DAYS: wholeNumber(90, 36_500).describe("Days for which webhook payloads are kept, 0 = forever."),
  ...bodyStorageSettings,
  TASK_IDLE_HOURS: wholeNumber(0, 8_760).describe(
    "Hours of silence after which an agent without a lease loses its task in progress, 0 = never.",
  ),
  BOARD_EVENTS: z
    .enum(["on", "off"])
    .optional()
    .describe("Whether board events are published; on by default, but off on a local server without EVENTS_ENDPOINT."),
  EVENTS_ENDPOINT: httpUrl
    .optional()
    .describe("Local server only: EventBridge-compatible URL for board events; when unset, they stay in the process."),
  SECURITY_HEADER_X_CONTENT_TYPE_OPTIONS: optionalHeader("nosniff").describe("Value of the header; `off` omits it."),
  SECURITY_HEADER_X_FRAME_OPTIONS: optionalHeader("DENY").describe("Value of the header; `off` omits it."),
  SECURITY_HEADER_REFERRER_POLICY: optionalHeader("strict-origin-when-cross-origin").describe(
    "Value of the header; `off` omits it.",
  ),
  SECURITY_HEADER_PERMISSIONS_POLICY: optionalHeader(null).describe("Value of the header; omitted when unset."),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error"]).default("info").describe("Lowest level that is logged."),
});

export interface Settings {
  readonly port: number;
  readonly host: string;
  readonly data_dir: string;
  readonly database: { driver: "pglite"; url: null } | { driver: "postgres" | "neon"; url: string };
  readonly prepared_statements: boolean;
  readonly database_timeouts: DatabaseTimeouts;
  /** Null when BASE_URL is unset; the `endpoint_url` of webhooks is then null too. */
  readonly base_url: string | null;
  /** URL of the streams in the OpenAPI document; null when it does not differ from the service's. */
  readonly stream_url: string | null;
  /** URL in files and messages: BASE_URL, or the address of the local listener. */
  readonly service_url: string;
  readonly auth: LocalAuth | OidcAuth;
  readonly cors_origins: readonly string[];
  readonly trusted_proxies: readonly string[];
  readonly budgets: Budgets;
  /** Blank, not the default, when it was set to blank (docs/reference/gateways.md#minimum-version). */
  readonly gateway_min_version: string;
  readonly gateway_allowed_hosts: readonly string[];
  readonly private_gateways_allowed: boolean;
  readonly souls_directory_url: string | null;
  readonly encryption_key: KeyObject;
  readonly token_pepper: KeyObject;
  readonly activity_readers: "admin" | "member";
  /** 0 keeps events forever. */
  readonly activity_retention_days: number;
  /** 0 keeps entries forever. */
  readonly changes_retention_days: number;
  /** 0 keeps payloads forever. */
  readonly webhook_payload_retention_days: number;
  /** Null keeps bodies of webhook payloads in the database. */
  readonly body_storage: BodyStorageSettings | null;
  /** 0 leaves tasks with silent agents. */
  readonly task_idle_hours: number;
  readonly board_events: boolean;
  readonly events_endpoint: string | null;
  /** Values by header name, without the headers that are switched off. */
  readonly security_headers: Readonly<Record<string, string>>;
  readonly log_level: "trace" | "debug" | "info" | "warn" | "error";
}
export interface LocalAuth {
  mode: "local";
  token: string;
}
export interface OidcAuth {
  mode: "oidc";
  issuer: string;
  jwks_url: string;
  audience: string | null;
  authorized_parties: readonly string[];
  /** How the console signs people in. `client_id` is null when it cannot. */
  console: { client_id: string | null; scope: string; origins: readonly string[] };
}

/** Whether a token that the issuer made for another service signs in here. */
export const acceptsAnyAudience = ({ audience, authorized_parties }: OidcAuth): boolean =>
  audience === null && authorized_parties.length === 0;

/** The settings for commands that only use the database. */
export type DatabaseSettings = Pick<Settings, "data_dir" | "database" | "prepared_statements" | "database_timeouts">;

/** Settings are missing or invalid. The message has a line with the name and the rule of each, never its value. */
export class SettingsError extends Error {}

/**
 * Parses the environment. `edge` is where the process runs: a local server in local mode may connect to any private address,
 * a Lambda only to those of GATEWAY_ALLOWED_HOSTS.
 */
export function parseSettings(environment: Variables, edge: "local" | "lambda"): Settings {
  const env = parseEnvironment(Environment, environment, (variables) => listMissing(variables, edge));
  return {
    port: env.PORT,
    host: env.HOST,
    data_dir: env.DATA_DIR,
    database: toDatabase(env.DATABASE_URL, env.DATABASE_DRIVER),
    prepared_statements: env.PREPARED_STATEMENTS === "on",
    database_timeouts: toTimeouts(env),
    base_url: env.BASE_URL ?? null,
    stream_url: env.STREAM_URL ?? null,
    service_url: env.BASE_URL ?? `http://${env.HOST.includes(":") ? `[${env.HOST}]` : env.HOST}:${env.PORT}`,
    auth: toAuth(env),
    cors_origins: env.CORS_ORIGINS,
    trusted_proxies: env.TRUSTED_PROXIES,
    budgets: toBudgets(env),
    gateway_min_version: environment["GATEWAY_MIN_VERSION"]?.trim() === "" ? "" : env.GATEWAY_MIN_VERSION,
    gateway_allowed_hosts: env.GATEWAY_ALLOWED_HOSTS,
    private_gateways_allowed: env.AUTH_MODE === "local" && edge === "local",
    souls_directory_url: env.SOULS_DIRECTORY_URL ?? null,
    encryption_key: env.ENCRYPTION_KEY,
    token_pepper: env.TOKEN_PEPPER,
    activity_readers: env.ACTIVITY_READERS,
    activity_retention_days: env.ACTIVITY_RETENTION_DAYS,
    changes_retention_days: env.CHANGES_RETENTION_DAYS,
    webhook_payload_retention_days: env.WEBHOOK_PAYLOAD_RETENTION_DAYS,
    body_storage: toBodyStorage(env),
    task_idle_hours: env.TASK_IDLE_HOURS,
    // Each event costs a job, so a service that nobody listens to makes none.
    board_events: (env.BOARD_EVENTS ?? (edge === "lambda" || env.EVENTS_ENDPOINT ? "on" : "off")) === "on",
    events_endpoint: env.EVENTS_ENDPOINT ?? null,
    security_headers: withoutNulls({
      "X-Content-Type-Options": env.SECURITY_HEADER_X_CONTENT_TYPE_OPTIONS,
      "X-Frame-Options": env.SECURITY_HEADER_X_FRAME_OPTIONS,
      "Referrer-Policy": env.SECURITY_HEADER_REFERRER_POLICY,
      "Permissions-Policy": env.SECURITY_HEADER_PERMISSIONS_POLICY,
    }),
    log_level: env.LOG_LEVEL,
  };
}

export function parseDatabaseSettings(environment: Variables): DatabaseSettings {
  const databaseVariables = {
    DATA_DIR: true,
    DATABASE_URL: true,
    DATABASE_DRIVER: true,
    PREPARED_STATEMENTS: true,
    DATABASE_CONNECT_TIMEOUT_SECONDS: true,
    DATABASE_STATEMENT_TIMEOUT_SECONDS: true,
    DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS: true,
  } as const;
  const env = parseEnvironment(Environment.pick(databaseVariables), environment);
  return {
    data_dir: env.DATA_DIR,
    database: toDatabase(env.DATABASE_URL, env.DATABASE_DRIVER),
    prepared_statements: env.PREPARED_STATEMENTS === "on",
    database_timeouts: toTimeouts(env),
  };
}

/** All problems of the settings, one line each. */
export function listProblems(environment: Variables, edge: "local" | "lambda"): string[] {
  try {
    parseSettings(environment, edge);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.message.split("\n");
    throw error;
  }
}

/** `listMore` finds problems between settings. Those of a setting that is itself invalid are left out. */
function parseEnvironment<S extends z.ZodObject>(
  schema: S,
  environment: Variables,
  listMore: (variables: Record<string, string>) => string[] = () => [],
): z.output<S> {
  const variables = withoutBlanks(environment);
  const parsed = schema.safeParse(variables, PARSED_ONCE);
  const issues = parsed.error?.issues ?? [];
  // Reversed, so that the first problem of a setting is kept.
  const invalid = new Map(issues.toReversed().map((issue) => [String(issue.path[0]), toProblem(issue, variables)]));
  const more = listMore(variables).filter((problem) => !problem.split(/[ =]/).some((word) => invalid.has(word)));
  if (parsed.success && more.length === 0) return parsed.data;
  throw new SettingsError([...[...invalid.values()].toReversed(), ...more].join("\n"));
}

function toDatabase(url: string | undefined, driver: "pglite" | "postgres" | "neon" | undefined): Settings["database"] {
  if (!url) {
    if (driver && driver !== "pglite") throw new SettingsError(`DATABASE_URL is required with DATABASE_DRIVER=${driver}`);
    return { driver: "pglite", url: null };
  }
  if (driver === "pglite") throw new SettingsError("DATABASE_DRIVER=pglite cannot be combined with DATABASE_URL");
  const neon = URL.canParse(url) && new URL(url).hostname.endsWith(".neon.tech");
  return { driver: driver ?? (neon ? "neon" : "postgres"), url };
}

type TimeoutVariable = `DATABASE_${"CONNECT" | "STATEMENT" | "IDLE_TRANSACTION"}_TIMEOUT_SECONDS`;

const toTimeouts = (env: Readonly<Record<TimeoutVariable, number>>): DatabaseTimeouts => ({
  connect_ms: env.DATABASE_CONNECT_TIMEOUT_SECONDS * 1_000,
  statement_ms: env.DATABASE_STATEMENT_TIMEOUT_SECONDS * 1_000,
  idle_transaction_ms: env.DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS * 1_000,
});

function toAuth(env: z.infer<typeof Environment>): LocalAuth | OidcAuth {
  if (env.AUTH_MODE === "local") {
    if (!env.LOCAL_AUTH_TOKEN) throw new SettingsError("LOCAL_AUTH_TOKEN is required with AUTH_MODE=local");
    return { mode: "local", token: env.LOCAL_AUTH_TOKEN };
  }
  if (!env.OIDC_ISSUER) throw new SettingsError("OIDC_ISSUER is required with AUTH_MODE=oidc");
  return {
    mode: "oidc",
    issuer: env.OIDC_ISSUER,
    jwks_url: env.OIDC_JWKS_URL ?? `${trimEndOf(env.OIDC_ISSUER, "/")}/.well-known/jwks.json`,
    audience: env.OIDC_AUDIENCE ?? null,
    authorized_parties: env.OIDC_AUTHORIZED_PARTIES,
    console: {
      client_id: env.CONSOLE_OIDC_CLIENT_ID ?? null,
      scope: env.CONSOLE_OIDC_SCOPE,
      origins: env.CONSOLE_OIDC_ORIGINS,
    },
  };
}

const withoutNulls = (headers: Record<string, string | null>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null));
