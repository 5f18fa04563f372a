import { type SQL, sql } from "drizzle-orm";
import { jobs } from "./job.sql.ts";

/**
 * The head of a lane: its running job, else the queued job with the lowest `seq`. A queued job can have a lower `seq` than
 * the running one, because `seq` is drawn before commit and dead jobs are redriven; it still waits.
 */
export const laneHead = (lane: SQL) => sql`coalesce(
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'running'),
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'queued' order by other.seq limit 1))`;

/** The job is the head of its lane, or has no lane. */
export const isLaneHead = sql`(${jobs.lane} is null or ${jobs.id} = ${laneHead(sql`${jobs}.lane`)})`;
