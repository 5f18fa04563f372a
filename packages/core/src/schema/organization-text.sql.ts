import { bigint, pgTable, primaryKey, uuid } from "drizzle-orm/pg-core";
import { organizations } from "./organization.sql.ts";

/**
 * The bytes of an organization's texts, as the sum of its shards. Triggers update a shard that no other transaction has locked,
 * or add a shard, so that writes never wait for each other (docs/decisions/text-by-trigger.md).
 */
export const organization_text_usage = pgTable(
  "organization_text_usage",
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** The id of the transaction that added the shard, which makes it unique. */
    shard: bigint({ mode: "bigint" }).notNull(),
    bytes: bigint({ mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.shard] })],
);
