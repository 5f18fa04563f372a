import * as z from "zod";
import { bodyStorageSettings } from "./body-storage-settings.ts";
import { budgetSettings } from "./budget-settings.ts";
import { mailSettings } from "./mail-settings.ts";
import { base64Key, commaSeparated, httpUrl, httpsUrl, issuer, optionalHeader, origins, wholeNumber } from "./setting-types.ts";
import { lazyObject } from "../values/wire.ts";

const FORBIDDEN_TOKENS = ["change-me", "changeme", "replace-me", "replace-with-strong-random-token"];
const MIN_LOCAL_TOKEN = 50;

/** All settings of the service (docs/reference/conventions.md#settings). A blank value is treated as unset. */
export const Environment = lazyObject(() => ({
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
  DATABASE_NOTIFY: z
    .enum(["on", "off"])
    .optional()
    .describe(
      "Whether processes tell each other of changes by LISTEN and NOTIFY, over one more connection each, so that a change reaches streams at other processes without waiting for a poll. On by default with the driver postgres, but off behind a pooler, which breaks LISTEN.",
    ),
  BASE_URL: httpUrl
    .optional()
    .describe(
      "Public URL of the service, used in links and in files of agents. Passkeys need a host name in it, not an IP address. When unset, a local server in accounts mode takes localhost and its port.",
    ),
  STREAM_URL: httpUrl.optional().describe("Public URL of the streams when it differs from BASE_URL."),
  AUTH_MODE: z
    .enum(["local", "oidc", "accounts"])
    .default("local")
    .describe(
      "How users sign in. When unset, a local server uses accounts in a new DATA_DIR, and stores the mode there for later starts.",
    ),
  LOCAL_AUTH_TOKEN: z
    .string()
    .refine((text) => !FORBIDDEN_TOKENS.includes(text.toLowerCase()), { error: "must not be a placeholder" })
    .min(MIN_LOCAL_TOKEN, `must have at least ${MIN_LOCAL_TOKEN} characters`)
    .optional()
    .meta({ rule: `at least ${MIN_LOCAL_TOKEN} characters, no placeholder`, secret: true })
    .describe(
      "Shared token of local mode, and the first owner's token in accounts mode. A local server generates one; required on Lambda in local mode.",
    ),
  GITHUB_CLIENT_ID: z.string().optional().describe("OAuth app by which people may sign in with GitHub, in accounts mode."),
  GITHUB_CLIENT_SECRET: z.string().optional().meta({ secret: true }).describe("Secret of the GitHub app."),
  GOOGLE_CLIENT_ID: z.string().optional().describe("OAuth client by which people may sign in with Google, in accounts mode."),
  GOOGLE_CLIENT_SECRET: z.string().optional().meta({ secret: true }).describe("Secret of the Google client."),
  OIDC_ISSUER: issuer.optional().describe("Issuer of user tokens, exactly as in their `iss` claim. Required in oidc mode."),
  OIDC_JWKS_URL: httpUrl.optional().describe("URL of the issuer's keys; the issuer's /.well-known/jwks.json when unset."),
  OIDC_AUDIENCE: z
    .string()
    .optional()
    .describe("Required `aud` claim. When unset, it is not checked, and tokens of people are refused at /mcp."),
  OIDC_AUTHORIZED_PARTIES: commaSeparated.describe("Allowed `azp` claims, comma-separated; not checked when unset."),
  OIDC_REQUIRE_VERIFIED_EMAIL: z
    .enum(["on", "off"])
    .default("on")
    .describe(
      "Whether an e-mail address, with which a person can accept invites, is trusted only when the token says that it is verified (`email_verified`). With `off`, it is also trusted when the token says nothing.",
    ),
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
  ...budgetSettings(),
  GATEWAY_MIN_VERSION: z.string().default("2026.02.9").describe("Oldest host version that is fully supported."),
  GATEWAY_ALLOWED_HOSTS: commaSeparated.describe("Private host names, addresses or CIDRs that gateways may use."),
  SUBSCRIPTION_ALLOWED_HOSTS: commaSeparated.describe(
    "Private host names, addresses or CIDRs that subscriptions of every organization may post to, by http too and at any port.",
  ),
  SOULS_DIRECTORY_URL: httpsUrl.optional().describe("URL of a remote souls directory; the built-in directory when unset."),
  ENCRYPTION_KEY: base64Key.describe("Encrypts secrets in the database. A local server generates one."),
  TOKEN_PEPPER: base64Key.describe(
    "HMAC key of the digests by which tokens and keys are found, and of signed links that decide approvals. A local server generates one.",
  ),
  ACTIVITY_READERS: z.enum(["admin", "member"]).default("admin").describe("Lowest role that may read the activity list."),
  ACTIVITY_RETENTION_DAYS: wholeNumber(0, 36_500).describe(
    "Days for which activity events other than comments are kept, 0 = forever.",
  ),
  AUDIT_RETENTION_DAYS: wholeNumber(400, 36_500).describe("Days for which entries of the audit log are kept, 0 = forever."),
  RUN_STEPS_RETENTION_DAYS: wholeNumber(30, 36_500).describe("Days for which steps of runs are kept, 0 = forever."),
  WEBHOOK_PAYLOAD_RETENTION_DAYS: wholeNumber(90, 36_500).describe("Days for which webhook payloads are kept, 0 = forever."),
  ...bodyStorageSettings,
  ...mailSettings,
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
  DRAIN_SECONDS: wholeNumber(0, 300).describe(
    "Local server only: seconds for which a process goes on answering after SIGTERM, while /readyz answers 503, so that a balancer sends new requests to other processes; 0 = none.",
  ),
  METRICS_PORT: wholeNumber(0, 65_535).describe(
    "Local server only: port at HOST that serves /metrics in Prometheus's format to anybody who reaches it, 0 = none.",
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      "Local server only: URL of a collector that gets traces and metrics by OTLP over HTTP. The other variables OTEL_… of OpenTelemetry's exporters apply too.",
    ),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error"]).default("info").describe("Lowest level that is logged."),
}));
