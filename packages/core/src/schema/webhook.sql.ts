import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { bytes, created, id, instant, isOneOf, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";
import { wordsVector } from "./search-vector.ts";

/** The kinds of senders that a webhook can be for. */
export const SOURCE_NAMES = ["generic", "github", "gitlab", "stripe", "slack", "linear", "sentry", "standard_webhooks"] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

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
    /** The kind of sender, which decides how its requests are signed and read. */
    source: text({ enum: SOURCE_NAMES }).notNull().default("generic"),
    /** Patterns of the events that the agent is notified of; null for all. */
    event_types: text().array(),
    secret_sealed: bytes(),
    /** The secret before the last change, which is accepted until the time. */
    previous_secret_sealed: bytes(),
    previous_secret_until: instant(),
    signature_header: text(),
    ...timestamps,
  },
  (t) => [
    index("board_webhooks_by_board").on(t.board_id, t.created_at, t.id),
    index("board_webhooks_by_agent").on(t.agent_id),
    index("board_webhooks_by_previous_secret")
      .on(t.previous_secret_until)
      .where(sql`${t.previous_secret_until} is not null`)
      .concurrently(),
    check("board_webhooks_source", isOneOf(t.source, SOURCE_NAMES)),
  ],
);

/** The outcome of a delivery whose job was removed, or that needed none. */
export interface StoredDelivery {
  status: "delivered" | "failed" | "no_target";
  attempts: number;
  last_error: string | null;
  delivered_at: string | null;
  agent_id: string | null;
}

/** The words by which a payload is found. */
export const payloadWords = (t: Record<"webhook_id" | "words" | "event_type" | "summary" | "search_text", SQLWrapper>): SQL =>
  wordsVector(t.webhook_id, t.words, t.event_type, t.summary, t.search_text);

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
    /** Null once it has moved to the body storage, where it has this key and so many bytes. */
    body: bytes(),
    body_key: text(),
    body_bytes: integer(),
    body_kind: text().$type<"json" | "text">().notNull(),
    headers: jsonb().$type<Record<string, string>>().notNull(),
    source_ip: text().notNull(),
    content_type: text(),
    received_at: instant().notNull(),
    /** Of body and headers. Null in rows that are older than the column. */
    size_bytes: integer(),
    /** What the source of the webhook read from the request; null where it names nothing. */
    event_type: text(),
    delivery_id: text(),
    summary: text(),
    /** The texts of the body in rows that are older than `words`; null in others and in still older ones. */
    search_text: text(),
    /** The words of event, summary and body for searches. */
    words: text(),
    /** The webhook's event_types did not match, so that nobody is notified. */
    filtered: boolean().notNull().default(false),
    /** The latest job that notifies the agent. It is removed before the payload; `delivery` then holds its outcome. */
    notify_job_id: uuid(),
    delivery: jsonb().$type<StoredDelivery>(),
  },
  (t) => [
    index("board_webhook_payloads_by_webhook").on(t.webhook_id, t.received_at, t.id),
    index("board_webhook_payloads_by_board").on(t.board_id),
    index("board_webhook_payloads_by_age").on(t.received_at).concurrently(),
    index("board_webhook_payloads_by_event")
      .on(t.webhook_id, t.event_type, t.received_at, t.id)
      .where(sql`${t.event_type} is not null`)
      .concurrently(),
    index("board_webhook_payloads_by_word").using("gin", payloadWords(t)).concurrently(),
    check("board_webhook_payloads_kind", sql`${t.body_kind} in ('json', 'text')`),
  ],
);

export const WEBHOOK_DELIVERY_IDS_KEY = "webhook_delivery_ids_key";

/**
 * The deliveries of the last days, by the sender's id, and by the digest of a signed body after a space. A row may outlive its
 * payload, so that no repeat is stored again.
 */
export const webhook_delivery_ids = pgTable(
  "webhook_delivery_ids",
  {
    webhook_id: uuid()
      .notNull()
      .references(() => board_webhooks.id, { onDelete: "cascade" }),
    delivery_id: text().notNull(),
    payload_id: uuid().notNull(),
    received_at: instant().notNull(),
  },
  (t) => [
    primaryKey({ name: WEBHOOK_DELIVERY_IDS_KEY, columns: [t.webhook_id, t.delivery_id] }),
    index("webhook_delivery_ids_by_age").on(t.received_at),
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

/** The bytes of stored payloads of a webhook, in shards like those of its organization. */
export const webhook_usage = pgTable(
  "webhook_usage",
  {
    webhook_id: uuid()
      .notNull()
      .references(() => board_webhooks.id, { onDelete: "cascade" }),
    shard: integer().notNull(),
    bytes: bigint({ mode: "number" }).notNull(),
    /** When the sum was last counted from the payloads; null while it may lack some that are older than this table. */
    counted_at: instant(),
  },
  (t) => [primaryKey({ columns: [t.webhook_id, t.shard] })],
);
