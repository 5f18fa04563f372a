import { limitNames } from "./budgets.ts";

/** Former settings, with what to do instead. This file imports only the table of budgets, because infra reads it. */
const REMOVED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(limitNames.map((name) => [name.toUpperCase(), `Set ${name} in LIMITS instead.`])),
  CHANGES_RETENTION_DAYS: "Entries of the changes feed are kept for 7 days.",
  DATABASE_CONNECT_TIMEOUT_SECONDS: "The limit is 10 s.",
  DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS: "The limit is 60 s.",
  DATABASE_STATEMENT_TIMEOUT_SECONDS: "The limit is 60 s.",
  DELIVERIES_QUEUE_URL: "Set QUEUE_URLS instead.",
  OUTBOUND_QUEUE_URL: "Set QUEUE_URLS instead.",
  PROBES_QUEUE_URL: "Set QUEUE_URLS instead.",
  SYNCS_QUEUE_URL: "Set QUEUE_URLS instead.",
  WEBHOOK_BODY_MIN_BYTES: "Bodies of at least 16,384 bytes move to a bucket, and bodies of any size move to a folder.",
  WEBHOOK_BODY_STORAGE_ENDPOINT: "Set AWS_ENDPOINT_URL_S3 instead.",
};

/** Lists the removed settings that are still in an environment. They have no effect, so the service names them when it starts. */
export const listRemoved = (environment: Readonly<Record<string, string | undefined>>) =>
  Object.entries(REMOVED).flatMap(([name, instead]) => (environment[name]?.trim() ? [{ name, instead }] : []));

/** Returns one line for each removed setting. */
export const describeRemoved = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  listRemoved(environment).map(({ name, instead }) => `No longer a setting: ${name}. ${instead}`);
