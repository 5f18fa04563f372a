import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "../agent/agent.sql.ts";
import { boards } from "../board/board.sql.ts";
import { bytes, created, id, instant, timestamps } from "../db/columns.ts";
import { organizations } from "../organization/organization.sql.ts";

export const board_webhooks = pgTable(
  "board_webhooks",
  {
    ...id,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    /** Null notifies the board's lead. */
    agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    description: text().notNull(),
    enabled: boolean().notNull().default(true),
    secret_sealed: bytes(),
    signature_header: text(),
    ...timestamps,
  },
  (t) => [index("board_webhooks_by_board").on(t.board_id, t.created_at, t.id), index("board_webhooks_by_agent").on(t.agent_id)],
);

/** Bodies are stored as raw bytes: parsing and serializing JSON would change big integers, escapes and key order. */
export const board_webhook_payloads = pgTable(
  "board_webhook_payloads",
  {
    ...id,
    ...created,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    webhook_id: uuid()
      .notNull()
      .references(() => board_webhooks.id, { onDelete: "cascade" }),
    body: bytes().notNull(),
    body_kind: text().$type<"json" | "text">().notNull(),
    headers: jsonb().$type<Record<string, string>>().notNull(),
    source_ip: text().notNull(),
    content_type: text(),
    received_at: instant().notNull(),
    /** Of body and headers. Null in rows that are older than the column. */
    size_bytes: integer(),
  },
  (t) => [
    index("board_webhook_payloads_by_webhook").on(t.webhook_id, t.received_at, t.id),
    index("board_webhook_payloads_by_board").on(t.board_id),
    index("board_webhook_payloads_by_age").on(t.received_at).concurrently(),
    check("board_webhook_payloads_kind", sql`${t.body_kind} in ('json', 'text')`),
  ],
);

/**
 * The bytes of stored payloads of an organization: the sum of its shards, of which each post adds to one, so that posts do
 * not wait for each other. Removals are subtracted from one shard, which may become negative.
 */
export const webhook_payload_usage = pgTable(
  "webhook_payload_usage",
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    shard: integer().notNull(),
    bytes: bigint({ mode: "number" }).notNull(),
    /** When the sum was last counted from the payloads; null while it may lack some that are older than this table. */
    counted_at: instant(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.shard] })],
);
