import { removeEventsBefore } from "@board/core/activity/retention";
import { isUnfinished } from "@board/core/artifact/retention";
import { removeAuditEventsBefore } from "@board/core/audit/retention";
import { removeChangesBefore } from "@board/core/change/retention";
import type { Retention } from "@board/core/db/retention";
import { removeAnswers } from "@board/core/idempotency/retention";
import { hasEnded, removeJobs } from "@board/core/job/remove";
import { audit_events } from "@board/core/schema/audit.sql";
import { activity_events } from "@board/core/schema/activity.sql";
import { artifacts } from "@board/core/schema/artifact.sql";
import { channel_deliveries, used_decisions } from "@board/core/schema/channel.sql";
import { changes } from "@board/core/schema/change.sql";
import { idempotency_keys } from "@board/core/schema/idempotency.sql";
import { inbox_messages } from "@board/core/schema/inbox.sql";
import { jobs } from "@board/core/schema/job.sql";
import { rate_counters } from "@board/core/schema/rate-limit.sql";
import { api_key_tokens, api_keys } from "@board/core/schema/key.sql";
import { removeOldSteps } from "@board/core/run/steps/retention";
import { run_steps } from "@board/core/schema/run.sql";
import { skill_pack_syncs } from "@board/core/schema/skill-pack.sql";
import { subscription_deliveries } from "@board/core/schema/subscription.sql";
import { sync_runs } from "@board/core/schema/sync.sql";
import { user_notifications } from "@board/core/schema/people.sql";
import { startOfUsageCounts, usage_counts, usage_entries, usage_tasks } from "@board/core/schema/usage.sql";
import { board_webhook_payloads, webhook_delivery_ids } from "@board/core/schema/webhook.sql";
import { REMEMBERED_DAYS } from "@board/core/webhook/delivery-id";
import { isNotPending, removeOldPayloads } from "@board/core/webhook/retention";

/**
 * How long rows are kept. docs/reference/data-model.md#retention uses the same names. Rows that are not listed are kept forever.
 */
export const RETENTIONS: Readonly<Record<string, Retention>> = {
  "done jobs": {
    table: jobs,
    since: jobs.finished_at,
    days: 7,
    where: () => hasEnded("done"),
    remove: removeJobs,
    batch: 5_000,
  },
  "dead jobs": {
    table: jobs,
    since: jobs.finished_at,
    days: 30,
    where: () => hasEnded("dead"),
    remove: removeJobs,
    batch: 5_000,
  },
  // A counter is removed ten minutes after the time in its column `minute`. For a counter per day, that time is the end of the day.
  "rate counters": { table: rate_counters, since: rate_counters.minute, days: 10 / (24 * 60), batch: 5_000 },
  "template sync runs": { table: sync_runs, since: sync_runs.created_at, days: 7, batch: 5_000 },
  "pack syncs": { table: skill_pack_syncs, since: skill_pack_syncs.created_at, days: 7, batch: 5_000 },
  "inbox messages": { table: inbox_messages, since: inbox_messages.created_at, days: 30, batch: 5_000 },
  "deliveries to people": { table: channel_deliveries, since: channel_deliveries.created_at, days: 30, batch: 5_000 },
  "used decisions": { table: used_decisions, since: used_decisions.created_at, days: 2, batch: 5_000 },
  "inboxes of people": { table: user_notifications, since: user_notifications.created_at, days: 90, batch: 5_000 },
  "activity events other than comments": {
    table: activity_events,
    days: "activity_retention_days",
    removeBefore: removeEventsBefore,
  },
  // A mirror that was offline for longer than a week reads the lists again. This costs less than a longer feed would cost for
  // everyone.
  "entries of the changes feed": { table: changes, days: 7, removeBefore: removeChangesBefore },
  "delivery ids of webhooks": {
    table: webhook_delivery_ids,
    since: webhook_delivery_ids.received_at,
    days: REMEMBERED_DAYS,
    batch: 5_000,
  },
  "entries of the audit log": { table: audit_events, days: "audit_retention_days", removeBefore: removeAuditEventsBefore },
  "steps of runs": {
    table: run_steps,
    since: run_steps.created_at,
    days: "run_steps_retention_days",
    remove: removeOldSteps,
    // The batch is small, because the steps of one request can take a megabyte.
    batch: 200,
  },
  "webhook payloads": {
    table: board_webhook_payloads,
    since: board_webhook_payloads.received_at,
    days: "webhook_payload_retention_days",
    where: isNotPending,
    remove: removeOldPayloads,
    // The batch is small, because a payload can have several megabytes.
    batch: 200,
  },
  "artifacts whose upload was never completed": {
    table: artifacts,
    since: artifacts.created_at,
    days: 1,
    where: isUnfinished,
    batch: 200,
  },
  // The last attempt of a delivery takes place after 28 hours, so old deliveries are no longer needed.
  "deliveries of subscriptions": {
    table: subscription_deliveries,
    since: subscription_deliveries.created_at,
    days: 30,
    batch: 2_000,
  },
  "answers to repeated requests": {
    table: idempotency_keys,
    since: idempotency_keys.created_at,
    days: 1,
    remove: removeAnswers,
    batch: 2_000,
  },
  "keys after their end": { table: api_keys, since: api_keys.expires_at, days: 30, batch: 1_000 },
  "replaced tokens of keys": { table: api_key_tokens, since: api_key_tokens.ends_at, days: 1, batch: 5_000 },
  // A repeated report is recognized by its key for as long as the entry is kept.
  "usage entries": { table: usage_entries, since: usage_entries.stored_at, days: 7, batch: 5_000 },
  // The sums are kept for more than a year, because the longest range of a report is a year and may begin in the middle of a
  // month.
  "sums of usage": { table: usage_counts, since: startOfUsageCounts, days: 400, batch: 5_000 },
  "sums of tasks": { table: usage_tasks, since: usage_tasks.last_day, days: 400, batch: 5_000 },
};
