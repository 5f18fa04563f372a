import type { KeyObject } from "node:crypto";
import * as z from "zod";
import { toKey } from "./seal.ts";

const FORBIDDEN_TOKENS = ["change-me", "changeme", "replace-me", "replace-with-strong-random-token"];
const MIN_LOCAL_TOKEN = 50;

const list = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .meta({ rule: "list, comma-separated" });
const count = (fallback: number, max: number) =>
  z
    .string()
    .default(String(fallback))
    .refine((text) => /^\d{1,12}$/.test(text) && Number(text) <= max, { error: `must be a whole number from 0 to ${max}` })
    .transform(Number)
    .meta({ rule: `whole number from 0 to ${max}` });
const httpUrl = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: "must be an absolute http or https URL",
  })
  .transform((text) => text.replace(/\/+$/, ""))
  .meta({ rule: "absolute http or https URL" });
/** An address in the public internet that the service itself fetches from. */
const httpsUrl = httpUrl
  .refine((text) => /^https:\/\/[^/@]+(\/|$)/i.test(text), { error: "must be an absolute https URL without credentials" })
  .meta({ rule: "absolute https URL without credentials" });
/** Kept as written: `iss` is compared letter by letter, a final slash included. */
const issuer = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: "must be an absolute http or https URL",
  })
  .meta({ rule: "absolute http or https URL" });
const key = z
  .string()
  .transform((text, ctx): KeyObject => {
    try {
      return toKey(text);
    } catch {
      ctx.issues.push({ code: "custom", message: "must be 32 bytes in Base64", input: undefined });
      return z.NEVER;
    }
  })
  .meta({ rule: "32 bytes in Base64", secret: true });
const header = (fallback: string | null) =>
  z
    .string()
    .optional()
    .refine((value) => value === undefined || /^[\x20-\x7e]*$/.test(value), { error: "must be printable ASCII" })
    .transform((value) => (value === undefined ? fallback : value.toLowerCase() === "off" ? null : value))
    .meta({ rule: "printable ASCII" });

/** Every setting of the service: name, default, rule (contract conventions.md §13). Blank counts as unset. */
export const Environment = z.object({
  PORT: count(8000, 65_535).describe("Port of the local server; 0 takes a free one."),
  HOST: z.string().default("127.0.0.1").describe("Address of the local server."),
  DATA_DIR: z.string().default("./.data").describe("Embedded database and generated secrets."),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "must be a postgres:// URL")
    .optional()
    .meta({ rule: "postgres:// or postgresql:// URL", secret: true })
    .describe("PostgreSQL or Neon; unset: the embedded database under DATA_DIR. Required on Lambda."),
  DATABASE_DRIVER: z.enum(["pglite", "postgres", "neon"]).optional().describe("Driver; by the URL when unset."),
  PREPARED_STATEMENTS: z
    .enum(["on", "off"])
    .default("on")
    .describe("Whether connections keep the plans of what is asked often. `off` for a pooler that does not carry them over."),
  BASE_URL: httpUrl.optional().describe("Public address of the service, for links and agents' files."),
  STREAM_URL: httpUrl.optional().describe("Public address of the streams, where they are not at BASE_URL."),
  AUTH_MODE: z.enum(["local", "oidc"]).default("local").describe("How people sign in."),
  LOCAL_AUTH_TOKEN: z
    .string()
    .refine((text) => !FORBIDDEN_TOKENS.includes(text.toLowerCase()), { error: "must not be a placeholder" })
    .min(MIN_LOCAL_TOKEN, `must have at least ${MIN_LOCAL_TOKEN} characters`)
    .optional()
    .meta({ rule: `at least ${MIN_LOCAL_TOKEN} characters, no placeholder`, secret: true })
    .describe("The shared token of local mode. A local server makes one; required on Lambda in local mode."),
  OIDC_ISSUER: issuer.optional().describe("Issuer of user tokens, exactly as in the `iss` claim. Required in oidc mode."),
  OIDC_JWKS_URL: httpUrl.optional().describe("Keys of the issuer; its /.well-known/jwks.json when unset."),
  OIDC_AUDIENCE: z.string().optional().describe("Required `aud`, when set."),
  OIDC_AUTHORIZED_PARTIES: list.describe("Allowed `azp`, comma-separated, when set."),
  CORS_ORIGINS: list.describe("Origins of browser clients, comma-separated."),
  TRUSTED_PROXIES: list.describe("Addresses or CIDRs whose X-Forwarded-For is believed."),
  WEBHOOK_MAX_PAYLOAD_BYTES: count(1_048_576, 10_485_760).describe("Largest webhook body."),
  WEBHOOK_RATE_PER_MINUTE: count(600, 1_000_000_000).describe("Accepted posts per webhook and clock minute, 0 = no limit."),
  AUTH_FAILURES_PER_MINUTE: count(20, 1_000_000_000).describe(
    "Failing credentials per client address and clock minute, 0 = no limit.",
  ),
  GATEWAY_MIN_VERSION: z.string().default("2026.02.9").describe("Oldest gateway that is fully supported."),
  GATEWAY_ALLOWED_HOSTS: list.describe("Private hosts, addresses or CIDRs that gateways may have."),
  SOULS_DIRECTORY_URL: httpsUrl.optional().describe("Remote souls directory; the built-in one when unset."),
  ENCRYPTION_KEY: key.describe("Seals secrets in the database. A local server makes one."),
  TOKEN_PEPPER: key.describe("Keys the look-up digest of agent tokens. A local server makes one."),
  ACTIVITY_READERS: z.enum(["admin", "member"]).default("admin").describe("Who reads the activity list."),
  ACTIVITY_RETENTION_DAYS: count(0, 36_500).describe("How long events other than comments are kept, 0 = for ever."),
  BOARD_EVENTS: z.enum(["on", "off"]).default("on").describe("Whether what happens on boards leaves on the event bus."),
  EVENTS_ENDPOINT: httpUrl
    .optional()
    .describe("Local server: EventBridge-compatible address that board events are sent to; unset: they stay in the process."),
  SECURITY_HEADER_X_CONTENT_TYPE_OPTIONS: header("nosniff").describe("`off` leaves it out."),
  SECURITY_HEADER_X_FRAME_OPTIONS: header("DENY").describe("`off` leaves it out."),
  SECURITY_HEADER_REFERRER_POLICY: header("strict-origin-when-cross-origin").describe("`off` leaves it out."),
  SECURITY_HEADER_PERMISSIONS_POLICY: header(null).describe("Not sent when unset."),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error"]).default("info").describe("Least level that is logged."),
});

export interface Settings {
  readonly port: number;
  readonly host: string;
  readonly data_dir: string;
  readonly database: { driver: "pglite"; url: null } | { driver: "postgres" | "neon"; url: string };
  readonly prepared_statements: boolean;
  /** Null when BASE_URL is unset: then `endpoint_url` is null too. */
  readonly base_url: string | null;
  /** Where the OpenAPI document says that streams are; null for the same address as all else. */
  readonly stream_url: string | null;
  /** What files and messages name: BASE_URL, or the local listener. */
  readonly service_url: string;
  readonly auth: LocalAuth | OidcAuth;
  readonly cors_origins: readonly string[];
  readonly trusted_proxies: readonly string[];
  readonly webhook_max_payload_bytes: number;
  readonly webhook_rate_per_minute: number;
  readonly auth_failures_per_minute: number;
  /** Blank, and not the default, when it was set to blank: that has a meaning of its own (contract gateways.md §4). */
  readonly gateway_min_version: string;
  readonly gateway_allowed_hosts: readonly string[];
  readonly private_gateways_allowed: boolean;
  readonly souls_directory_url: string | null;
  readonly encryption_key: KeyObject;
  readonly token_pepper: KeyObject;
  readonly activity_readers: "admin" | "member";
  /** 0 keeps events for ever. */
  readonly activity_retention_days: number;
  readonly board_events: boolean;
  readonly events_endpoint: string | null;
  /** Header name to value; those switched off are absent. */
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
}

/** Where the data is: all that a command needs which looks at the database and at nothing else. */
export type DatabaseSettings = Pick<Settings, "data_dir" | "database" | "prepared_statements">;

/** A setting is missing or wrong. The message is one line that names the setting and the rule, never the value. */
export class SettingsError extends Error {}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the environment once. `edge` is where the process runs: a Lambda may not dial private addresses on its own,
 * a local server in local mode may.
 */
export function parseSettings(environment: Variables, edge: "local" | "lambda"): Settings {
  const env = read(Environment, environment);
  if (edge === "lambda" && !env.DATABASE_URL) throw new SettingsError("DATABASE_URL is required");
  return {
    port: env.PORT,
    host: env.HOST,
    data_dir: env.DATA_DIR,
    database: toDatabase(env.DATABASE_URL, env.DATABASE_DRIVER),
    prepared_statements: env.PREPARED_STATEMENTS === "on",
    base_url: env.BASE_URL ?? null,
    stream_url: env.STREAM_URL ?? null,
    service_url: env.BASE_URL ?? `http://${env.HOST.includes(":") ? `[${env.HOST}]` : env.HOST}:${env.PORT}`,
    auth: toAuth(env),
    cors_origins: env.CORS_ORIGINS,
    trusted_proxies: env.TRUSTED_PROXIES,
    webhook_max_payload_bytes: env.WEBHOOK_MAX_PAYLOAD_BYTES,
    webhook_rate_per_minute: env.WEBHOOK_RATE_PER_MINUTE,
    auth_failures_per_minute: env.AUTH_FAILURES_PER_MINUTE,
    gateway_min_version: environment["GATEWAY_MIN_VERSION"]?.trim() === "" ? "" : env.GATEWAY_MIN_VERSION,
    gateway_allowed_hosts: env.GATEWAY_ALLOWED_HOSTS,
    private_gateways_allowed: env.AUTH_MODE === "local" && edge === "local",
    souls_directory_url: env.SOULS_DIRECTORY_URL ?? null,
    encryption_key: env.ENCRYPTION_KEY,
    token_pepper: env.TOKEN_PEPPER,
    activity_readers: env.ACTIVITY_READERS,
    activity_retention_days: env.ACTIVITY_RETENTION_DAYS,
    board_events: env.BOARD_EVENTS === "on",
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
  const own = { DATA_DIR: true, DATABASE_URL: true, DATABASE_DRIVER: true, PREPARED_STATEMENTS: true } as const;
  const env = read(Environment.pick(own), environment);
  return {
    data_dir: env.DATA_DIR,
    database: toDatabase(env.DATABASE_URL, env.DATABASE_DRIVER),
    prepared_statements: env.PREPARED_STATEMENTS === "on",
  };
}

/** Everything that is wrong with the settings, one line each as a start would tell it; a start tells the first alone. */
export function findProblems(environment: Variables, edge: "local" | "lambda"): string[] {
  const given = givenOf(environment);
  const parsed = Environment.safeParse(given);
  if (!parsed.success) return [...new Set(parsed.error.issues.map((issue) => toProblem(issue, given)))];
  try {
    parseSettings(environment, edge);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return [error.message];
    throw error;
  }
}

function read<S extends z.ZodObject>(schema: S, environment: Variables): z.output<S> {
  const given = givenOf(environment);
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new SettingsError(toProblem(parsed.error.issues[0]!, given));
}

const givenOf = (environment: Variables) =>
  Object.fromEntries(Object.entries(environment).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])));

function toProblem(issue: z.core.$ZodIssue, given: Record<string, string>): string {
  const missing = issue.code === "invalid_type" && !(String(issue.path[0]) in given);
  const allowed = issue.code === "invalid_value" ? `must be one of ${issue.values.join(", ")}` : issue.message;
  return `${String(issue.path[0])} ${missing ? "is required" : allowed}`;
}

function toDatabase(url: string | undefined, driver: "pglite" | "postgres" | "neon" | undefined): Settings["database"] {
  if (!url) {
    if (driver && driver !== "pglite") throw new SettingsError(`DATABASE_URL is required with DATABASE_DRIVER=${driver}`);
    return { driver: "pglite", url: null };
  }
  if (driver === "pglite") throw new SettingsError("DATABASE_DRIVER=pglite does not go with DATABASE_URL");
  const neon = URL.canParse(url) && new URL(url).hostname.endsWith(".neon.tech");
  return { driver: driver ?? (neon ? "neon" : "postgres"), url };
}

function toAuth(env: z.infer<typeof Environment>): LocalAuth | OidcAuth {
  if (env.AUTH_MODE === "local") {
    if (!env.LOCAL_AUTH_TOKEN) throw new SettingsError("LOCAL_AUTH_TOKEN is required with AUTH_MODE=local");
    return { mode: "local", token: env.LOCAL_AUTH_TOKEN };
  }
  if (!env.OIDC_ISSUER) throw new SettingsError("OIDC_ISSUER is required with AUTH_MODE=oidc");
  return {
    mode: "oidc",
    issuer: env.OIDC_ISSUER,
    jwks_url: env.OIDC_JWKS_URL ?? `${env.OIDC_ISSUER.replace(/\/+$/, "")}/.well-known/jwks.json`,
    audience: env.OIDC_AUDIENCE ?? null,
    authorized_parties: env.OIDC_AUTHORIZED_PARTIES,
  };
}

const withoutNulls = (headers: Record<string, string | null>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null));
