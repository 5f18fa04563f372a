import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, created, id, instant } from "./columns.ts";
import { gateways } from "./gateway.sql.ts";
import { organizations } from "./organization.sql.ts";
import { subscriptions } from "./subscription.sql.ts";

export const JOB_STATUSES = ["queued", "running", "done", "dead"] as const;
/** What a due job waits for: the host of its gateway, or a free slot of its organization, gateway or subscription. */
export type HeldBy = "circuit" | "organization" | "gateway" | "subscription";

/** What a completed job reports about itself. */
export interface JobResult {
  /** The agent that was notified; null if there was no agent to notify. */
  agent_id: string | null;
}

/** The transactional outbox and the state of all background work. docs/job-states.md describes the states. */
export const jobs = pgTable(
  "jobs",
  {
    ...id,
    ...created,
    kind: text().notNull(),
    /** Jobs of a lane run one at a time, in order. A job without a lane runs at any time. */
    lane: text(),
    /** The organization that the job belongs to. Null after the organization is deleted, because clean-up jobs outlive it. */
    organization_id: uuid().references(() => organizations.id, { onDelete: "set null" }),
    gateway_id: uuid().references(() => gateways.id, { onDelete: "set null" }),
    subscription_id: uuid().references(() => subscriptions.id, { onDelete: "cascade" }),
    payload: jsonb().$type<unknown>().notNull(),
    secret_sealed: bytes(),
    dedupe_key: text(),
    run_at: instant().notNull(),
    /** The trace id of the request that enqueued the job. */
    trace_id: text(),
    /** When a wake-up was sent to the queue; null if one must still be sent. */
    sent_at: instant(),
    attempts: integer().notNull().default(0),
    max_attempts: integer().notNull(),
    /** How many attempts ended in an unexpected error or an expired lease. Failures of a host do not count. */
    crashes: integer().notNull().default(0),
    lease_until: instant(),
    /**
     * Identifies the attempt that leased the job. Only this attempt may end or undo its lease. Null if a request claimed the job.
     */
    lease_token: uuid(),
    /**
     * The numbers of the slots that a running job occupies in the budgets of its organization, gateway and subscription; negative
     * for syncs.
     */
    organization_slot: integer(),
    gateway_slot: integer(),
    subscription_slot: integer(),
    /** Why a due job is held. `run_at` is then the time of its next try. */
    held_by: text().$type<HeldBy>(),
    held_since: instant(),
    /** Set when a job first waits for a host that is down. If the host is still down after this time, the job is given up. */
    give_up_at: instant(),
    status: text().$type<(typeof JOB_STATUSES)[number]>().notNull().default("queued"),
    last_error: text(),
    /** What the handler reports about a completed job, for example the agent that was notified. */
    result: jsonb().$type<JobResult>(),
    /** Whether the job died because its host was unreachable. */
    unreachable: boolean().notNull().default(false),
    /** When the job was revived because its host was available again. This happens only once. */
    revived_at: instant(),
    finished_at: instant(),
    seq: bigint({ mode: "bigint" }).notNull().generatedAlwaysAsIdentity(),
  },
  (t) => [
    uniqueIndex("jobs_dedupe").on(t.dedupe_key).where(sql`status in ('queued', 'running')`),
    uniqueIndex("jobs_running").on(t.lane).where(sql`status = 'running'`),
    // These indexes enforce budgets across processes: if two jobs take the same slot at the same time, one violates the index.
    uniqueIndex("jobs_organization_slot").on(t.organization_id, t.organization_slot).where(sql`status = 'running'`),
    uniqueIndex("jobs_gateway_slot").on(t.gateway_id, t.gateway_slot).where(sql`status = 'running'`),
    uniqueIndex("jobs_subscription_slot")
      .on(t.subscription_id, t.subscription_slot)
      .where(sql`status = 'running'`)
      .concurrently(),
    index("jobs_by_subscription").on(t.subscription_id).where(sql`subscription_id is not null`).concurrently(),
    index("jobs_held").on(t.organization_id, t.gateway_id).where(sql`held_by is not null`),
    index("jobs_lane").on(t.lane, t.seq).where(sql`status in ('queued', 'running')`),
    index("jobs_by_gateway").on(t.gateway_id),
    index("jobs_by_organization_seq").on(t.organization_id, t.seq).concurrently(),
    index("jobs_finished").on(t.status, t.finished_at).where(sql`status in ('done', 'dead')`).concurrently(),
    check("jobs_held_by", sql`${t.held_by} in ('circuit', 'organization', 'gateway', 'subscription')`),
    check("jobs_status", sql`${t.status} in ('queued', 'running', 'done', 'dead')`),
  ],
);
