import { apiGateway } from "./api-gateway.ts";
import { connection } from "./database.ts";
import { eventSettings } from "./events.ts";
import { queue, syncQueue } from "./queue.ts";
import { encryptionKey, localAuthToken, tokenPepper } from "./secrets.ts";

/** Settings that may differ from their defaults; the CLI reads them from the shell, `.env` and `.env.<stage>`. */
const OPTIONAL = [
  "ACTIVITY_READERS",
  "ACTIVITY_RETENTION_DAYS",
  "AUTH_FAILURES_PER_MINUTE",
  "AUTH_MODE",
  "BASE_URL",
  "BOARD_EVENTS",
  "CORS_ORIGINS",
  "GATEWAY_ALLOWED_HOSTS",
  "GATEWAY_MIN_VERSION",
  "LOG_LEVEL",
  "OIDC_AUDIENCE",
  "OIDC_AUTHORIZED_PARTIES",
  "OIDC_ISSUER",
  "OIDC_JWKS_URL",
  "PREPARED_STATEMENTS",
  "SECURITY_HEADER_PERMISSIONS_POLICY",
  "SECURITY_HEADER_REFERRER_POLICY",
  "SECURITY_HEADER_X_CONTENT_TYPE_OPTIONS",
  "SECURITY_HEADER_X_FRAME_OPTIONS",
  "SOULS_DIRECTORY_URL",
  "TRUSTED_PROXIES",
  "WEBHOOK_MAX_PAYLOAD_BYTES",
  "WEBHOOK_RATE_PER_MINUTE",
];

/** What every function that runs the domain is told. */
export const environment = {
  BASE_URL: apiGateway.url,
  DELIVERIES_QUEUE_URL: queue.url,
  SYNCS_QUEUE_URL: syncQueue.url,
  ...eventSettings,
  /** A dimension of the service's own metrics, which stages of one account would share without it. */
  STAGE: $app.stage,
  ...Object.fromEntries(OPTIONAL.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  ...connection,
  ENCRYPTION_KEY: encryptionKey.value,
  TOKEN_PEPPER: tokenPepper.value,
  ...(localAuthToken ? { LOCAL_AUTH_TOKEN: localAuthToken.value } : {}),
};
