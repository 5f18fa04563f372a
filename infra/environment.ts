import { budgetVariables } from "../packages/core/src/config/budgets.ts";
import { describeRemoved } from "../packages/core/src/config/removed-settings.ts";
import { apiUrl } from "./api-gateway.ts";
import { bodySettings } from "./bodies.ts";
import { pooledConnection } from "./database.ts";
import { eventSettings } from "./event-bus.ts";
import { deliveryQueue, outboundQueue, probeQueue, syncQueue } from "./queue.ts";
import { encryptionKey, githubClientSecret, googleClientSecret, localAuthToken, smtpUrl, tokenPepper } from "./secrets.ts";

/** Settings that are passed on to the functions if they are set in the shell, `.env` or `.env.<stage>`. */
const OPTIONAL = [
  ...budgetVariables,
  "ACTIVITY_READERS",
  "ACTIVITY_RETENTION_DAYS",
  "AUDIT_RETENTION_DAYS",
  "AUTH_MODE",
  "BASE_URL",
  "BOARD_EVENTS",
  "CONSOLE_OIDC_CLIENT_ID",
  "CONSOLE_OIDC_ORIGINS",
  "CONSOLE_OIDC_SCOPE",
  "CORS_ORIGINS",
  "GATEWAY_ALLOWED_HOSTS",
  "GATEWAY_MIN_VERSION",
  "GITHUB_CLIENT_ID",
  "GOOGLE_CLIENT_ID",
  "LOG_LEVEL",
  "MAIL_FROM",
  "OIDC_AUDIENCE",
  "OIDC_AUTHORIZED_PARTIES",
  "OIDC_ISSUER",
  "OIDC_JWKS_URL",
  "OIDC_REQUIRE_VERIFIED_EMAIL",
  "PREPARED_STATEMENTS",
  "SECURITY_HEADER_PERMISSIONS_POLICY",
  "SECURITY_HEADER_REFERRER_POLICY",
  "SECURITY_HEADER_X_CONTENT_TYPE_OPTIONS",
  "SECURITY_HEADER_X_FRAME_OPTIONS",
  "SOULS_DIRECTORY_URL",
  "SUBSCRIPTION_ALLOWED_HOSTS",
  "TRUSTED_PROXIES",
  "RUN_STEPS_RETENTION_DAYS",
  "WEBHOOK_PAYLOAD_RETENTION_DAYS",
];

for (const line of describeRemoved(process.env)) process.stderr.write(`${line}\n`);

/** Environment variables of all functions except the migration. */
export const environment = {
  BASE_URL: apiUrl,
  QUEUE_URLS: $interpolate`deliveries=${deliveryQueue.url},syncs=${syncQueue.url},probes=${probeQueue.url},outbound=${outboundQueue.url}`,
  ...eventSettings,
  ...bodySettings,
  /** A dimension of the metrics that separates stages in the same account. */
  STAGE: $app.stage,
  ...Object.fromEntries(OPTIONAL.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  ...pooledConnection,
  ENCRYPTION_KEY: encryptionKey.value,
  TOKEN_PEPPER: tokenPepper.value,
  ...(smtpUrl ? { SMTP_URL: smtpUrl.value } : {}),
  ...(githubClientSecret ? { GITHUB_CLIENT_SECRET: githubClientSecret.value } : {}),
  ...(googleClientSecret ? { GOOGLE_CLIENT_SECRET: googleClientSecret.value } : {}),
  ...(localAuthToken ? { LOCAL_AUTH_TOKEN: localAuthToken.value } : {}),
};
