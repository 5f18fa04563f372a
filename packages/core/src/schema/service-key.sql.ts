import { pgTable, text } from "drizzle-orm/pg-core";
import { bytes, id, timestamps } from "./columns.ts";

/** Keys that the service generated, encrypted. They are stored, because they must survive a redeployment. */
export const service_keys = pgTable("service_keys", {
  ...id,
  name: text().notNull().unique(),
  value_sealed: bytes().notNull(),
  ...timestamps,
});
