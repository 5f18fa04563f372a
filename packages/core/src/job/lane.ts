import { inArray, type SQL, sql } from "drizzle-orm";
import { type JOB_STATUSES, jobs } from "../schema/job.sql.ts";

/**
 * The head of a lane: its running job, else the queued job with the lowest `seq`. A queued job can have a lower `seq` than
 * the running one, because `seq` is drawn before commit and dead jobs are redriven; it still waits.
 */
export const laneHead = (lane: SQL) => sql`coalesce(
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'running'),
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'queued' order by other.seq limit 1))`;

/**
 * The status of a job that is named by its id. A `case`, because PostgreSQL would take a plain condition for a reason to search
 * an index of all open jobs instead: with statistics from when there were none, it looks smaller than the primary key.
 */
export const hasStatus = (...statuses: (typeof JOB_STATUSES)[number][]): SQL =>
  sql`case when ${inArray(jobs.status, statuses)} then true else false end`;

/** The job is the head of its lane, or has no lane. */
export const isLaneHead = sql`(${jobs.lane} is null or ${jobs.id} = ${laneHead(sql`${jobs}.lane`)})`;
