/** The deployments that the tests render: production with code, and variants of settings and stages. */
export interface Variant {
  stage: string;
  /** The environment variables of the deployment. */
  settings: Readonly<Record<string, string>>;
  /** The names of the secrets that have a value. */
  secrets: readonly string[];
  /** Whether the functions are bundled. */
  withCode?: true;
}

const SECRETS = ["DatabaseUrl", "DatabaseDirectUrl", "EncryptionKey", "TokenPepper", "LocalAuthToken"];

export const secretValue = (name: string) => `the-value-of-${name}`;

export const variants = {
  production: { stage: "production", settings: { ALARM_EMAIL: "alarms@example.com" }, secrets: SECRETS, withCode: true },
  staging: {
    stage: "staging",
    settings: { SCHEDULE_MINUTES: "30", ACCOUNT_CONCURRENCY: "10", API_REQUESTS_PER_SECOND: "80" },
    secrets: SECRETS,
  },
  domain: { stage: "production", settings: { API_DOMAIN: "board.example.com" }, secrets: SECRETS },
  "domain-elsewhere": {
    stage: "production",
    settings: {
      API_DOMAIN: "board.example.org",
      API_DOMAIN_CERTIFICATE: "arn:aws:acm:us-east-1:123456789012:certificate/own",
      BOARD_EVENTS: "off",
    },
    secrets: SECRETS,
  },
  container: { stage: "production", settings: { STREAM_DOMAIN: "streams.example.com" }, secrets: SECRETS },
  bodies: { stage: "production", settings: { WEBHOOK_BODY_BUCKET: "on", WEBHOOK_BODY_DAYS: "14" }, secrets: SECRETS },
  oidc: {
    stage: "production",
    settings: { AUTH_MODE: "oidc", OIDC_ISSUER: "https://id.example/" },
    secrets: SECRETS.filter((name) => name !== "LocalAuthToken"),
  },
  accounts: {
    stage: "production",
    settings: { AUTH_MODE: "accounts", GITHUB_CLIENT_ID: "github-client", MAIL_FROM: "board@example.com" },
    secrets: [...SECRETS.filter((name) => name !== "LocalAuthToken"), "GithubClientSecret", "SmtpUrl"],
  },
} as const satisfies Record<string, Variant>;

export type VariantName = keyof typeof variants;

/** Returns the folder of a variant's graph and archives, relative to the project root. */
export const folderOf = (name: string) => `.sst/graphs/${name}`;
