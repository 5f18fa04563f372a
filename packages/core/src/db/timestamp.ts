import { sql } from "drizzle-orm";

/** A time as a parameter. The cast names the type where PostgreSQL cannot infer it. */
export const toTimestamp = (time: Date) => sql`${time.toISOString()}::timestamptz`;

/** Times as an array parameter, for example for `width_bucket`. */
export const toTimestampArray = (times: readonly Date[]) =>
  sql`${sql.param(times.map((time) => time.toISOString()))}::timestamptz[]`;
