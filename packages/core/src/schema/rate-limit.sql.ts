import { index, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * Counts per clock minute, shared by all processes. A daily count has the end of its day as `minute`. Rows are removed ten
 * minutes after their `minute`.
 */
export const rate_counters = pgTable(
  "rate_counters",
  { scope: text().notNull(), key: text().notNull(), minute: instant().notNull(), count: integer().notNull() },
  (t) => [primaryKey({ columns: [t.scope, t.key, t.minute] }), index("rate_counters_by_minute").on(t.minute)],
);
