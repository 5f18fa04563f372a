import { STORED_TEXTS } from "@board/core/organization/stored-text";
import * as all from "@board/core/schema/all-tables";
import { getTableColumns, getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";

/** Tables whose texts have another limit, are removed after a time, or are written by the service alone. */
const NOT_COUNTED: Record<string, string> = {
  audit_events: "short texts, removed after AUDIT_RETENTION_DAYS",
  board_webhook_payloads: "limited by organization_payload_bytes",
  budgets: "at most 10,000 per organization, each with the name of a time zone",
  changes: "removed after a week",
  channel_deliveries: "errors that the service writes, removed after 30 days",
  channels: "a few rows per person",
  gateway_circuits: "written by the service",
  gateway_connectivity: "at most 50 rows per gateway, written by the service",
  idempotency_keys: "limited by organization_idempotency_bytes",
  jobs: "removed after 7 or 30 days, with texts of a few thousand characters",
  notification_preferences: "one row per person, without an organization",
  api_key_tokens: "digests",
  api_keys: "at most 1,000 per organization",
  organization_members: "roles",
  organizations: "one row per organization",
  processes: "written by the service",
  host_usage: "one row per agent, written by the service",
  rate_counters: "removed after ten minutes",
  run_steps: "at most 50 MB per run, removed after RUN_STEPS_RETENTION_DAYS",
  run_tokens: "one digest per run",
  runs: "at most 20 links per run",
  schedule_turns: "written by the service",
  service_keys: "written by the service",
  skill_pack_syncs: "removed by schedule",
  slack_apps: "one row per organization",
  slack_decisions: "identifiers that Slack assigns",
  stream_leases: "removed when they expire",
  subscription_deliveries: "limited by the budget subscription_deliveries",
  subscriptions: "limited by organization_subscriptions",
  sync_run_agents: "removed by schedule",
  sync_runs: "removed by schedule",
  task_transitions: "statuses",
  transition_counts: "written by the service",
  usage_entries: "limited by organization_usage_entries_per_day, removed after a week",
  usage_models: "at most 100 per organization",
  user_notifications: "keys that the service writes, removed after 90 days",
  users: "one row per person and one per key",
  webhook_body_orphans: "written by the service",
  webhook_delivery_ids: "removed after some days",
};
/** Columns that are not counted: the service writes them, they are short, or they follow from a counted column. */
const NOT_COUNTED_COLUMNS: Record<string, readonly string[]> = {
  activity_events: ["event_type", "anchor"],
  agents: ["status", "openclaw_session_id", "agent_token_hash", "agent_token_lookup", "previous_status", "last_provision_error"],
  approvals: ["status"],
  artifacts: ["sha256", "status"],
  board_group_memory: ["words"],
  board_memory: ["author_type", "words"],
  board_onboarding_sessions: ["session_key", "status"],
  board_webhooks: ["source"],
  boards: ["board_type", "goal_source"],
  gateways: ["kind", "version", "last_error"],
  inbox_messages: ["kind"],
  organization_invites: ["token_digest", "role"],
  tags: ["color"],
  task_custom_field_definitions: ["field_type", "ui_visibility"],
  tasks: ["status", "priority", "auto_reason", "run_status"],
  usage_counts: ["dimension", "span"],
};

const tables = Object.values<unknown>(all).filter((value) => is(value, PgTable));
const textColumns = (table: PgTable) =>
  Object.values(getTableColumns(table))
    .filter((column) => /text|json/.test(column.getSQLType()))
    .map(({ name }) => name);
const counted = new Map(
  Object.values(STORED_TEXTS).map(({ columns }) => [getTableName(columns[0].table), columns.map(({ name }) => name as string)]),
);

test("every table with texts is counted, or limited in another way", () => {
  const withTexts = tables.filter((table) => textColumns(table).length > 0).map(getTableName);
  expect([...counted.keys(), ...Object.keys(NOT_COUNTED)].toSorted()).toEqual(withTexts.toSorted());
});

test.each([...counted])("every text of a row of %s is counted, or has few characters", (name, columns) => {
  const table = tables.find((table) => getTableName(table) === name)!;
  expect([...columns, ...(NOT_COUNTED_COLUMNS[name] ?? [])].toSorted()).toEqual(textColumns(table).toSorted());
});
