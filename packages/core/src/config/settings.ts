import type { KeyObject } from "node:crypto";
import type * as z from "zod";
import { type BodyStorageSettings, toBodyStorage, toFileOrigin } from "./body-storage-settings.ts";
import { toBudgets } from "./budget-settings.ts";
import type { Budgets } from "./budgets.ts";
import { Environment } from "./environment.ts";
import { type MailSettings, toMailSettings } from "./mail-settings.ts";
import { looksPooled } from "./pooler.ts";
import { toServiceUrl } from "./service-url.ts";
import { listMissing, toProblem, type Variables, withoutBlanks } from "./setting-problems.ts";
import { trimEndOf } from "../values/text.ts";

/**
 * The parse option for settings. It disables the compilation of Zod schemas, which would take longer than the parsing itself,
 * because the settings are parsed only once.
 */
export const PARSED_ONCE = { jitless: true };

export interface Settings {
  readonly port: number;
  readonly host: string;
  readonly data_dir: string;
  readonly database: { driver: "pglite"; url: null } | { driver: "postgres" | "neon"; url: string };
  readonly prepared_statements: boolean;
  /** Whether processes notify each other of changes with NOTIFY. */
  readonly database_notify: boolean;
  /** Null if BASE_URL is unset. The `endpoint_url` of webhooks is then null too. */
  readonly base_url: string | null;
  /** The URL of the streams for the OpenAPI document; null if it is the URL of the service. */
  readonly stream_url: string | null;
  /** The URL of the service in files and messages: BASE_URL, or the address of the local listener. */
  readonly service_url: string;
  readonly auth: LocalAuth | OidcAuth | AccountsAuth;
  readonly cors_origins: readonly string[];
  readonly trusted_proxies: readonly string[];
  readonly budgets: Budgets;
  /** Whether answers may be streamed. Behind API Gateway, a Lambda's answer is collected first, and may have at most 6 MB. */
  readonly streamed_answers: boolean;
  /**
   * Blank if the variable is set to a blank value, because the default does not apply in this case
   * (docs/reference/gateways.md#minimum-version).
   */
  readonly gateway_min_version: string;
  readonly gateway_allowed_hosts: readonly string[];
  readonly private_gateways_allowed: boolean;
  readonly subscription_allowed_hosts: readonly string[];
  readonly loopback_receivers_allowed: boolean;
  readonly souls_directory_url: string | null;
  readonly encryption_key: KeyObject;
  readonly token_pepper: KeyObject;
  readonly activity_readers: "admin" | "member";
  /** 0 keeps events forever. */
  readonly activity_retention_days: number;
  readonly audit_retention_days: number;
  /** 0 keeps steps forever. */
  readonly run_steps_retention_days: number;
  /** 0 keeps payloads forever. */
  readonly webhook_payload_retention_days: number;
  /** If null, bodies of webhook payloads stay in the database. */
  readonly body_storage: BodyStorageSettings | null;
  /** The origin of the bucket, to which pages may connect; null if files are not in a bucket. */
  readonly file_origin: string | null;
  /** If null, no e-mails are sent. */
  readonly mail: MailSettings | null;
  /** If 0, tasks are never taken away from silent agents. */
  readonly task_idle_hours: number;
  readonly board_events: boolean;
  readonly events_endpoint: string | null;
  /** The header values by header name. Headers that are switched off are left out. */
  readonly security_headers: Readonly<Record<string, string>>;
  /** How long a process that was asked to stop continues to answer requests; 0 stops it at once. */
  readonly drain_seconds: number;
  readonly telemetry: {
    /** If null, no metrics are served. */
    readonly metrics_port: number | null;
    /** If null, no traces and metrics are sent. */
    readonly otlp_endpoint: string | null;
  };
  readonly log_level: "trace" | "debug" | "info" | "warn" | "error";
}
interface LocalAuth {
  mode: "local";
  token: string;
}
export interface AccountsAuth {
  mode: "accounts";
  /** The token with which programs sign in as the first owner; null if there is none. */
  owner_token: string | null;
  /** Other services with which people may sign in. */
  github: ProviderClient | null;
  google: ProviderClient | null;
}
interface ProviderClient {
  client_id: string;
  client_secret: string;
}
export interface OidcAuth {
  mode: "oidc";
  issuer: string;
  jwks_url: string;
  audience: string | null;
  authorized_parties: readonly string[];
  /** If true, an e-mail address counts only if the token says that it is verified. */
  require_verified_email: boolean;
  /** How people sign in to the console. They cannot sign in without a `client_id`. */
  console: { client_id: string | null; scope: string; origins: readonly string[] };
}

/** Checks whether the service accepts tokens that the issuer created for other services. */
export const acceptsAnyAudience = ({ audience, authorized_parties }: OidcAuth): boolean =>
  audience === null && authorized_parties.length === 0;

/** The settings that are needed by commands which only use the database. */
export type DatabaseSettings = Pick<Settings, "data_dir" | "database" | "prepared_statements">;

/**
 * The error for missing or invalid settings. The message has one line for each setting, with its name and rule but never its
 * value.
 */
export class SettingsError extends Error {}

/**
 * Parses the environment. `edge` is where the process runs. A local server in local mode belongs to one person, so it may connect
 * to gateways at any private address and post to loopback. In all other cases the operator names the allowed hosts.
 */
export function parseSettings(environment: Variables, edge: "local" | "lambda"): Settings {
  const env = parseEnvironment(Environment, environment, (variables) => listMissing(variables, edge));
  const is_personal = env.AUTH_MODE === "local" && edge === "local";
  const body_storage = toBodyStorage(env, environment["AWS_ENDPOINT_URL_S3"]);
  return {
    port: env.PORT,
    host: env.HOST,
    data_dir: env.DATA_DIR,
    database: toDatabase(env.DATABASE_URL, env.DATABASE_DRIVER),
    prepared_statements: env.PREPARED_STATEMENTS === "on",
    database_notify: toNotify(env),
    base_url: env.BASE_URL ?? null,
    stream_url: env.STREAM_URL ?? null,
    service_url:
      env.BASE_URL ?? toServiceUrl(`http://${env.HOST.includes(":") ? `[${env.HOST}]` : env.HOST}:${env.PORT}`, env.AUTH_MODE),
    auth: toAuth(env),
    cors_origins: env.CORS_ORIGINS,
    trusted_proxies: env.TRUSTED_PROXIES,
    streamed_answers: edge === "local",
    budgets: toBudgets(env, (variable) => Boolean(environment[variable]?.trim()), edge),
    gateway_min_version: environment["GATEWAY_MIN_VERSION"]?.trim() === "" ? "" : env.GATEWAY_MIN_VERSION,
    gateway_allowed_hosts: env.GATEWAY_ALLOWED_HOSTS,
    private_gateways_allowed: is_personal,
    subscription_allowed_hosts: env.SUBSCRIPTION_ALLOWED_HOSTS,
    loopback_receivers_allowed: is_personal,
    souls_directory_url: env.SOULS_DIRECTORY_URL ?? null,
    encryption_key: env.ENCRYPTION_KEY,
    token_pepper: env.TOKEN_PEPPER,
    activity_readers: env.ACTIVITY_READERS,
    activity_retention_days: env.ACTIVITY_RETENTION_DAYS,
    audit_retention_days: env.AUDIT_RETENTION_DAYS,
    run_steps_retention_days: env.RUN_STEPS_RETENTION_DAYS,
    webhook_payload_retention_days: env.WEBHOOK_PAYLOAD_RETENTION_DAYS,
    body_storage,
    file_origin: toFileOrigin(body_storage, environment["AWS_REGION"]),
    mail: toMailSettings(env),
    task_idle_hours: env.TASK_IDLE_HOURS,
    // Each event costs a job, so by default events are only published where something receives them.
    board_events: (env.BOARD_EVENTS ?? (edge === "lambda" || env.EVENTS_ENDPOINT ? "on" : "off")) === "on",
    events_endpoint: env.EVENTS_ENDPOINT ?? null,
    security_headers: withoutNulls({
      "X-Content-Type-Options": env.SECURITY_HEADER_X_CONTENT_TYPE_OPTIONS,
      "X-Frame-Options": env.SECURITY_HEADER_X_FRAME_OPTIONS,
      "Referrer-Policy": env.SECURITY_HEADER_REFERRER_POLICY,
      "Permissions-Policy": env.SECURITY_HEADER_PERMISSIONS_POLICY,
    }),
    drain_seconds: env.DRAIN_SECONDS,
    telemetry: { metrics_port: env.METRICS_PORT || null, otlp_endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT ?? null },
    log_level: env.LOG_LEVEL,
  };
}

/**
 * Decides whether to use LISTEN and NOTIFY. They do not work through a pooler, and they keep a database awake that should sleep
 * when idle.
 */
function toNotify(env: z.infer<typeof Environment>): boolean {
  const { driver, url } = toDatabase(env.DATABASE_URL, env.DATABASE_DRIVER);
  if (driver !== "postgres") return false;
  const isPooled = looksPooled(url) || env.PREPARED_STATEMENTS === "off";
  return (env.DATABASE_NOTIFY ?? (isPooled ? "off" : "on")) === "on";
}

export function parseDatabaseSettings(environment: Variables): DatabaseSettings {
  const databaseVariables = {
    DATA_DIR: true,
    DATABASE_URL: true,
    DATABASE_DRIVER: true,
    PREPARED_STATEMENTS: true,
  } as const;
  const env = parseEnvironment(Environment.pick(databaseVariables), environment);
  return {
    data_dir: env.DATA_DIR,
    database: toDatabase(env.DATABASE_URL, env.DATABASE_DRIVER),
    prepared_statements: env.PREPARED_STATEMENTS === "on",
  };
}

/** Lists all problems of the settings, one line each. */
export function listProblems(environment: Variables, edge: "local" | "lambda"): string[] {
  try {
    parseSettings(environment, edge);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.message.split("\n");
    throw error;
  }
}

/**
 * Parses the environment. `listMore` finds conflicts between settings. A conflict with an invalid setting is not reported, because
 * that setting has a problem already.
 */
function parseEnvironment<S extends z.ZodObject>(
  schema: S,
  environment: Variables,
  listMore: (variables: Record<string, string>) => string[] = () => [],
): z.output<S> {
  const variables = withoutBlanks(environment);
  const parsed = schema.safeParse(variables, PARSED_ONCE);
  const issues = parsed.error?.issues ?? [];
  // The issues are reversed, so that the map keeps the first problem of each setting.
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

const toClient = (client_id: string | undefined, client_secret: string | undefined): ProviderClient | null =>
  client_id && client_secret ? { client_id, client_secret } : null;

function toAuth(env: z.infer<typeof Environment>): Settings["auth"] {
  if (env.AUTH_MODE === "accounts")
    return {
      mode: "accounts",
      owner_token: env.LOCAL_AUTH_TOKEN ?? null,
      github: toClient(env.GITHUB_CLIENT_ID, env.GITHUB_CLIENT_SECRET),
      google: toClient(env.GOOGLE_CLIENT_ID, env.GOOGLE_CLIENT_SECRET),
    };
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
    require_verified_email: env.OIDC_REQUIRE_VERIFIED_EMAIL === "on",
    console: {
      client_id: env.CONSOLE_OIDC_CLIENT_ID ?? null,
      scope: env.CONSOLE_OIDC_SCOPE,
      origins: env.CONSOLE_OIDC_ORIGINS,
    },
  };
}

const withoutNulls = (headers: Record<string, string | null>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null));
