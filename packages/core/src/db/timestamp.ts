import { sql } from "drizzle-orm";

/** A time as a parameter. The cast is needed where PostgreSQL cannot infer the type. */
export const toTimestamp = (time: Date) => sql`${time.toISOString()}::timestamptz`;
