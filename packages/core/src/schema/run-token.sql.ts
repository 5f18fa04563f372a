import { pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { created } from "./columns.ts";
import { runs } from "./run.sql.ts";

/** The token of a run, which coding agents get instead of the agent's token. It is valid while the run is running. */
export const run_tokens = pgTable(
  "run_tokens",
  {
    run_id: uuid()
      .primaryKey()
      .references(() => runs.id, { onDelete: "cascade" }),
    /** The keyed digest by which the token is found. The token itself is not stored. */
    token_lookup: text().notNull(),
    ...created,
  },
  (t) => [uniqueIndex("run_tokens_lookup").on(t.token_lookup)],
);
