import { pgSequence } from "drizzle-orm/pg-core";

/** Orders the visible changes of rows that are updated in place, across all tables. */
export const change_seq = pgSequence("change_seq");
