import { type SQL, sql } from "drizzle-orm";
import { gateway_circuits } from "../schema/gateway-circuit.sql.ts";
import { jobs } from "../schema/job.sql.ts";
import { CIRCUIT_FREE_KINDS } from "./kinds.ts";
import { laneHead } from "./lane.ts";

/*
 * Columns of a query of `jobs` that tell why a queued job waits. Whether a circuit is open is read from the table of circuits:
 * `held_by` is set only after a job was tried, and a job behind another job of its lane is not tried.
 */

export const WAITS_FOR = ["gateway", "slot", "lane"] as const;
export type WaitsFor = (typeof WAITS_FOR)[number];

export const WAITS_FOR_TEXT =
  "What a queued job waits for, apart from its due time. gateway: its host is down, and last_error says why. slot: too many jobs run. lane: an earlier job of the same agent or gateway comes first.";

// Each column is written with its table, because Drizzle leaves out the table in a query of one table.
const isQueued = sql`${jobs}.status = 'queued'`;
const ofCircuit = (column: string): SQL => sql`(select circuit.${sql.raw(column)} from ${gateway_circuits} as circuit
  where circuit.gateway_id = ${jobs}.gateway_id and ${jobs}.kind not in (${sql.raw(CIRCUIT_FREE_KINDS.map((kind) => `'${kind}'`).join(", "))}))`;
const head = sql`${laneHead(sql`${jobs}.lane`)}`;

export const waitsFor = sql<WaitsFor | null>`case when not ${isQueued} then null
  when ${ofCircuit("retry_at")} is not null then 'gateway'
  when ${jobs}.held_by is not null then 'slot'
  when ${jobs}.lane is not null and ${head} <> ${jobs}.id then 'lane' end`;

/** The error of the last attempt. Before the first attempt, the error of the host that the job waits for. */
export const lastError = sql<
  string | null
>`coalesce(${jobs}.last_error, case when ${isQueued} then ${ofCircuit("last_error")} end)`;

/** When a queued job will next be tried: not before its host is tried, and not before the first job of its lane. */
export const nextAttemptAt = sql<Date | null>`case when ${isQueued} then greatest(${jobs}.run_at, ${ofCircuit("retry_at")},
  (select first.run_at from ${jobs} as first where first.id = ${head} and first.status = 'queued')) end`.mapWith(jobs.run_at);
