import { sql } from "drizzle-orm";

/** A time as a parameter. The cast names the type where PostgreSQL cannot infer it. */
export const toTimestamp = (time: Date) => sql`${time.toISOString()}::timestamptz`;
