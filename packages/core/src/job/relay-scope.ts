import { type SQL, sql } from "drizzle-orm";
import { inlineLimit } from "../db/stable-plan.ts";
import type { PendingWakeups } from "../context/pending-wakeups.ts";
import { jobs } from "../schema/job.sql.ts";
import { isLaneHead, laneHead } from "./lane.ts";

/** Wake-ups per relay batch. This is the maximum size of an SQS batch. */
export const RELAY_BATCH = 10;

/** Which jobs a relay checks. Each scope has its own prepared statement. */
export type RelayScope = "everything" | "one job" | "one lane" | "few" | "listed";

export function toRelayScope({ everything, ids, lanes }: PendingWakeups): RelayScope {
  if (everything) return "everything";
  if (ids.size === 1 && lanes.size === 0) return "one job";
  if (ids.size === 0 && lanes.size === 1) return "one lane";
  return ids.size <= FEW && lanes.size <= FEW ? "few" : "listed";
}

/**
 * The maximum number of ids and lanes to pass as separate parameters. Unused parameters are null. PostgreSQL cannot estimate the
 * length of an array, so with arrays it would plan the statement at every use. Planning it takes longer than running it.
 */
const FEW = 10;
const numbers = Array.from({ length: FEW }, (_, index) => index);

/** Returns the values of the scope `few`. */
export const fewValues = ({ ids, lanes }: PendingWakeups) => {
  const [few_ids, few_lanes] = [[...ids], [...lanes]];
  return Object.fromEntries(
    numbers.flatMap((n) => [[`id_${n}`, few_ids[n] ?? null] as const, [`lane_${n}`, few_lanes[n] ?? null]]),
  );
};

/**
 * Selects the wanted jobs that are due. The lateral join looks up each job by its id. With a plain join, or with a condition on
 * the status, PostgreSQL may choose the index of open jobs and read the whole backlog.
 */
const oneOf =
  (ids: SQL, lanes: SQL) =>
  (isDue: SQL): SQL =>
    sql`
    select due.id from (
      ${ids}
      union all
      select ${laneHead(sql`wanted.lane`)} from ${lanes} as wanted(lane)) as wanted(id)
    cross join lateral (select id, seq from ${jobs} where id = wanted.id and ${isDue} for update skip locked) as due
    order by due.seq limit ${inlineLimit(RELAY_BATCH)}`;
const allOf =
  (which: SQL) =>
  (isDue: SQL): SQL =>
    sql`select id from ${jobs} where ${isDue} and ${which} order by seq limit ${inlineLimit(RELAY_BATCH)} for update skip locked`;
const few = (name: string, type: SQL) =>
  sql`(values ${sql.join(
    numbers.map((n) => sql`(${sql.placeholder(`${name}_${n}`)}::${type})`),
    sql`, `,
  )})`;

/** Selects and locks the jobs of a scope that meet `isDue`. */
export const dueInScope: Record<RelayScope, (isDue: SQL) => SQL> = {
  everything: allOf(sql`status in ('queued', 'running') and ${isLaneHead}`),
  "one job": allOf(sql`id = ${sql.placeholder("id")}`),
  "one lane": allOf(sql`id = (${laneHead(sql`${sql.placeholder("lane")}::text`)})`),
  /** The given ids, and the head of each given lane. */
  few: oneOf(sql`select id from ${few("id", sql`uuid`)} as wanted(id)`, few("lane", sql`text`)),
  listed: oneOf(sql`select unnest(${sql.placeholder("ids")}::uuid[])`, sql`unnest(${sql.placeholder("lanes")}::text[])`),
};
