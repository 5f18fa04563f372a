import { integer, pgSequence, pgTable, primaryKey, text, index } from "drizzle-orm/pg-core";
import { bytes, id, instant, timestamps } from "./columns.ts";

/** Orders visible changes of rows that are updated in place, across tables. */
export const change_seq = pgSequence("change_seq");

/** Counts per clock minute, shared by all processes; rows live ten minutes. */
export const rate_counters = pgTable(
  "rate_counters",
  { scope: text().notNull(), key: text().notNull(), minute: instant().notNull(), count: integer().notNull() },
  (t) => [primaryKey({ columns: [t.scope, t.key, t.minute] }), index("rate_counters_by_minute").on(t.minute)],
);

/** Keys the service makes for itself, sealed: they must survive a redeployment. */
export const service_keys = pgTable("service_keys", {
  ...id,
  name: text().notNull().unique(),
  value_sealed: bytes().notNull(),
  ...timestamps,
});
