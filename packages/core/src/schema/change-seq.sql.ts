import { pgSequence } from "drizzle-orm/pg-core";

/** Orders visible changes of rows that are updated in place, across tables. */
export const change_seq = pgSequence("change_seq");
