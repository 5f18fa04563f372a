import { eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { lastError, nextAttemptAt, WAITS_FOR, WAITS_FOR_TEXT, type WaitsFor, waitsFor } from "../job/waiting.ts";
import { jobs } from "../schema/job.sql.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { board_webhook_payloads, type StoredDelivery } from "../schema/webhook.sql.ts";

export const DELIVERY_STATUSES = ["queued", "retrying", "delivered", "failed", "filtered", "no_target"] as const;
export const DeliveryStatus = z.enum(DELIVERY_STATUSES);
type DeliveryStatus = z.infer<typeof DeliveryStatus>;

export const Delivery = lazyObject(() => ({
  status: DeliveryStatus.describe(
    "queued: not tried yet. retrying: an attempt failed, and another follows. delivered: the agent's host accepted it. failed: given up. filtered: its event leads to no notification. no_target: there was no agent to notify.",
  ),
  attempts: z.int().describe("Attempts so far."),
  last_error: z
    .string()
    .nullable()
    .describe("Why the last attempt failed. Before the first attempt: why the agent's host is down."),
  waits_for: z.enum(WAITS_FOR).nullable().describe(WAITS_FOR_TEXT),
  next_attempt_at: Instant.nullable().describe("When the next attempt is due."),
  delivered_at: Instant.nullable().describe("When the host accepted it."),
  agent_id: Id.nullable().describe("The agent that was notified."),
})).meta({ id: "BoardWebhookDelivery", description: "Whether the agent was notified about a payload." });
export type Delivery = z.infer<typeof Delivery>;

const { filtered, notify_job_id, delivery } = board_webhook_payloads;

/** The condition of a join from `board_webhook_payloads` to `jobs`: whether the job is the one that notifies the agent. */
export const isNotifyJob: SQL = eq(jobs.id, notify_job_id);

/**
 * The delivery status according to a joined job. A done job without a result was run by an earlier version and has notified the
 * agent.
 */
const jobStatus = sql`case
  when ${jobs.status} = 'dead' then 'failed'
  when ${jobs.status} = 'done' and ${jobs.result} is not null and ${jobs.result} ->> 'agent_id' is null then 'no_target'
  when ${jobs.status} = 'done' then 'delivered'
  when ${jobs.attempts} > 0 and ${jobs.last_error} is not null then 'retrying'
  else 'queued' end`;

/**
 * The delivery status of a payload: from its job, or from the stored delivery if the job was removed. Null for a payload from
 * before deliveries were recorded. No other code determines this status.
 */
export const deliveryStatus = sql<DeliveryStatus | null>`case
  when ${jobs.id} is not null then ${jobStatus}
  when ${delivery} is not null then ${delivery} ->> 'status'
  when ${filtered} then 'filtered' end`;

/** Columns for a query that joins `isNotifyJob`. */
export const deliveryColumns = {
  status: deliveryStatus,
  has_job: sql<boolean>`${jobs.id} is not null`,
  attempts: jobs.attempts,
  last_error: lastError,
  waits_for: waitsFor,
  next_attempt_at: nextAttemptAt,
  finished_at: jobs.finished_at,
  result: jobs.result,
  stored: delivery,
};

export interface DeliveryRow {
  status: DeliveryStatus | null;
  has_job: boolean;
  attempts: number | null;
  last_error: string | null;
  waits_for: WaitsFor | null;
  next_attempt_at: Date | null;
  finished_at: Date | null;
  result: { agent_id: string | null } | null;
  stored: StoredDelivery | null;
}

export function toDelivery({ status, has_job, stored, ...job }: DeliveryRow): Delivery | null {
  if (status === null) return null;
  if (!has_job) {
    const delivered_at = stored?.delivered_at ? new Date(stored.delivered_at).toISOString() : null;
    const { attempts, last_error, agent_id } = stored ?? { attempts: 0, last_error: null, agent_id: null };
    return { status, attempts, last_error, waits_for: null, next_attempt_at: null, delivered_at, agent_id };
  }
  return {
    status,
    attempts: job.attempts ?? 0,
    last_error: job.last_error,
    waits_for: job.waits_for,
    next_attempt_at: job.next_attempt_at?.toISOString() ?? null,
    delivered_at: status === "delivered" ? (job.finished_at?.toISOString() ?? null) : null,
    agent_id: job.result?.agent_id ?? null,
  };
}
