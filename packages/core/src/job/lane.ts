import { inArray, type SQL, sql } from "drizzle-orm";
import { type JOB_STATUSES, jobs } from "../schema/job.sql.ts";

/**
 * Selects the head of a lane: its running job, or else the queued job with the lowest `seq`. A queued job may have a lower `seq`
 * than the running job, because `seq` is drawn before the commit and dead jobs can be queued again.
 */
export const laneHead = (lane: SQL) => sql`coalesce(
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'running'),
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'queued' order by other.seq limit 1))`;

/**
 * Returns a condition on the status of a job that is found by its id. It uses `case`, because with a plain condition PostgreSQL may
 * choose the index of open jobs: if the statistics are from an idle time, that index looks smaller than the primary key.
 */
export const hasStatus = (...statuses: (typeof JOB_STATUSES)[number][]): SQL =>
  sql`case when ${inArray(jobs.status, statuses)} then true else false end`;

/** Whether the job is the head of its lane or has no lane. */
export const isLaneHead = sql`(${jobs.lane} is null or ${jobs.id} = ${laneHead(sql`${jobs}.lane`)})`;
