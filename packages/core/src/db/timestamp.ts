import { sql } from "drizzle-orm";

/** Returns a time as an SQL parameter. The cast is needed where PostgreSQL cannot infer the type. */
export const toTimestamp = (time: Date) => sql`${time.toISOString()}::timestamptz`;
