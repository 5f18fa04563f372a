import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { bytes, created, id, instant, isOneOf, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";
import { wordsVector } from "./search-vector.ts";

/** The kinds of senders that a webhook supports. */
export const SOURCE_NAMES = ["generic", "github", "gitlab", "stripe", "slack", "linear", "sentry", "standard_webhooks"] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

export const board_webhooks = pgTable(
  "board_webhooks",
  {
    ...id,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    /** If null, the board's lead is notified. */
    agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    description: text().notNull(),
    enabled: boolean().notNull().default(true),
    /** The kind of sender, which determines how its requests are signed and read. */
    source: text({ enum: SOURCE_NAMES }).notNull().default("generic"),
    /** Patterns of the event types about which the agent is notified; null means all. */
    event_types: text().array(),
    secret_sealed: bytes(),
    /** The previous secret, which is accepted until `previous_secret_until`. */
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

/** The outcome of a delivery whose job was removed or that needed no job. */
export interface StoredDelivery {
  status: "delivered" | "failed" | "no_target";
  attempts: number;
  last_error: string | null;
  delivered_at: string | null;
  agent_id: string | null;
}

/** Returns the words by which a search finds a payload. */
export const payloadWords = (t: Record<"webhook_id" | "words" | "event_type" | "summary" | "search_text", SQLWrapper>): SQL =>
  wordsVector(t.webhook_id, t.words, t.event_type, t.summary, t.search_text);

/**
 * Payloads of webhooks. Bodies are raw bytes, because parsing and serializing JSON would change big integers, escapes and the
 * order of keys.
 */
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
    /** Null after the body was moved to the body storage. Then `body_key` is its key there, and `body_bytes` its size. */
    body: bytes(),
    body_key: text(),
    body_bytes: integer(),
    body_kind: text().$type<"json" | "text">().notNull(),
    headers: jsonb().$type<Record<string, string>>().notNull(),
    source_ip: text().notNull(),
    content_type: text(),
    received_at: instant().notNull(),
    /** Bytes of body and headers. Null in rows that are older than this column. */
    size_bytes: integer(),
    /** What the code for this kind of sender read from the request; null if the request does not contain it. */
    event_type: text(),
    delivery_id: text(),
    summary: text(),
    /** The texts of the body in rows from before `words` existed. Null in newer rows and in the oldest rows. */
    search_text: text(),
    /** The words of the event type, summary and body, for searches. */
    words: text(),
    /** True if the webhook's `event_types` did not match, so that nobody was notified. */
    filtered: boolean().notNull().default(false),
    /** The latest job to notify the agent. When the job is removed, its outcome is stored in `delivery`. */
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
 * Deliveries of the last days, identified by the id that the sender sent, or by a space and the digest of a signed body. A row
 * may outlive its payload, so that a repeated delivery is not stored again.
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
 * The bytes of an organization's stored payloads, as the sum of its shards. Each post adds to one shard, so that posts do not
 * wait for each other. Removals subtract from one shard, which may become negative.
 */
export const webhook_payload_usage = pgTable(
  "webhook_payload_usage",
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    shard: integer().notNull(),
    bytes: bigint({ mode: "number" }).notNull(),
    /** When the sum was last counted from the payloads. Null if payloads that are older than this table may be missing. */
    counted_at: instant(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.shard] })],
);

/** The bytes of a webhook's stored payloads, in shards as in `webhook_payload_usage`. */
export const webhook_usage = pgTable(
  "webhook_usage",
  {
    webhook_id: uuid()
      .notNull()
      .references(() => board_webhooks.id, { onDelete: "cascade" }),
    shard: integer().notNull(),
    bytes: bigint({ mode: "number" }).notNull(),
    /** When the sum was last counted from the payloads. Null if payloads that are older than this table may be missing. */
    counted_at: instant(),
  },
  (t) => [primaryKey({ columns: [t.webhook_id, t.shard] })],
);
