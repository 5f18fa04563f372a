import { sql } from "drizzle-orm";
import { bigint, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, created, id, instant } from "../db/columns.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { organizations } from "../organization/organization.sql.ts";

/** The transactional outbox, and the one owner of retry: due time, attempts, lane order, lease and end state. */
export const jobs = pgTable(
  "jobs",
  {
    ...id,
    ...created,
    kind: text().notNull(),
    /** Jobs of one lane run strictly one after the other; null stands in no lane. */
    lane: text(),
    /** Fairness between tenants in the queue. Null once the organization is gone: clean-up jobs outlive it. */
    organization_id: uuid().references(() => organizations.id, { onDelete: "set null" }),
    gateway_id: uuid().references(() => gateways.id, { onDelete: "set null" }),
    payload: jsonb().$type<unknown>().notNull(),
    secret_sealed: bytes(),
    dedupe_key: text(),
    run_at: instant().notNull(),
    /** Of the request that the job comes from. */
    trace_id: text(),
    /** When a wake-up was sent to the queue; null while none is on its way. */
    sent_at: instant(),
    attempts: integer().notNull().default(0),
    max_attempts: integer().notNull(),
    /** Attempts that ended in an unexpected error, or without a word: those of a host that is down do not count. */
    crashes: integer().notNull().default(0),
    lease_until: instant(),
    status: text().$type<"queued" | "running" | "done" | "dead">().notNull().default("queued"),
    last_error: text(),
    finished_at: instant(),
    seq: bigint({ mode: "bigint" }).notNull().generatedAlwaysAsIdentity(),
  },
  (t) => [
    uniqueIndex("jobs_dedupe").on(t.dedupe_key).where(sql`status in ('queued', 'running')`),
    index("jobs_live").on(t.status, t.run_at),
    uniqueIndex("jobs_running").on(t.lane).where(sql`status = 'running'`),
    index("jobs_lane").on(t.lane, t.seq).where(sql`status in ('queued', 'running')`),
    index("jobs_by_gateway").on(t.gateway_id),
    index("jobs_by_organization").on(t.organization_id),
    check("jobs_status", sql`${t.status} in ('queued', 'running', 'done', 'dead')`),
  ],
);
