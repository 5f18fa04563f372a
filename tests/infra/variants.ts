/** The deployments whose graphs are held against their promises: one in full, and what settings and stages change of it. */
export interface Variant {
  stage: string;
  /** What the deployer's shell says. */
  settings: Readonly<Record<string, string>>;
  /** Names of the secrets that were given a value. */
  secrets: readonly string[];
  /** Whether the functions are really bundled. */
  withCode?: true;
}

const SECRETS = ["DatabaseUrl", "DatabaseDirectUrl", "EncryptionKey", "TokenPepper", "LocalAuthToken"];

export const secretValue = (name: string) => `the-value-of-${name}`;

export const variants = {
  production: { stage: "production", settings: { ALARM_EMAIL: "alarms@example.com" }, secrets: SECRETS, withCode: true },
  staging: { stage: "staging", settings: { SCHEDULE_MINUTES: "30" }, secrets: SECRETS },
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
  oidc: {
    stage: "production",
    settings: { AUTH_MODE: "oidc", OIDC_ISSUER: "https://id.example/" },
    secrets: SECRETS.filter((name) => name !== "LocalAuthToken"),
  },
} as const satisfies Record<string, Variant>;

export type VariantName = keyof typeof variants;

/** Where a variant's graph and archives are, from the project's root. */
export const folderOf = (name: string) => `.sst/graphs/${name}`;
