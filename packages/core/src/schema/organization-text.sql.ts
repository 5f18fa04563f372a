import { bigint, pgTable, primaryKey, uuid } from "drizzle-orm/pg-core";
import { organizations } from "./organization.sql.ts";

/**
 * The bytes of an organization's texts: the sum of its shards. Triggers of a migration change a shard that no other transaction
 * holds, or add one, so that writes never wait for each other (docs/decisions/text-by-trigger.md).
 */
export const organization_text_usage = pgTable(
  "organization_text_usage",
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** The transaction that added the shard. */
    shard: bigint({ mode: "bigint" }).notNull(),
    bytes: bigint({ mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.shard] })],
);
