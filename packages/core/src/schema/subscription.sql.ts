import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { bytes, id, instant, isOneOf, json, timestamps, transactionId } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

export const SUBSCRIPTION_FORMATS = ["standard", "slack"] as const;
export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;

export const subscriptions = pgTable(
  "subscriptions",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** If null, the subscription is for the events of all boards. */
    board_id: uuid().references(() => boards.id, { onDelete: "cascade" }),
    /** The URL that messages are posted to. If the URL is sealed, this is only its host and last four characters. */
    url: text().notNull(),
    /** The whole URL, encrypted, if it contains a credential. */
    url_sealed: bytes(),
    active: boolean().notNull().default(true),
    /** Patterns of event types, in which `*` matches any text. */
    event_types: text().array().notNull(),
    description: text(),
    format: text().$type<(typeof SUBSCRIPTION_FORMATS)[number]>().notNull(),
    secret_sealed: bytes().notNull(),
    previous_secret_sealed: bytes(),
    /** Messages are also signed with the previous secret until this time. */
    previous_secret_until: instant(),
    disabled_reason: text(),
    /** Time of the first failure after the last success. */
    failing_since: instant(),
    /** Whether the receiver failed or was slow at its last attempt. In that case, it gets one attempt at a time. */
    throttled: boolean().notNull().default(false),
    ...timestamps,
  },
  (t) => [
    index("subscriptions_by_organization").on(t.organization_id, t.created_at, t.id),
    index("subscriptions_by_board").on(t.board_id),
    index("subscriptions_by_previous_secret").on(t.previous_secret_until).where(sql`${t.previous_secret_until} is not null`),
    check("subscriptions_format", isOneOf(t.format, SUBSCRIPTION_FORMATS)),
  ],
);

export type SubscriptionRow = typeof subscriptions.$inferSelect;

/** Deliveries of events to subscriptions. Each is stored in the transaction of the change. */
export const subscription_deliveries = pgTable(
  "subscription_deliveries",
  {
    ...id,
    created_at: instant().notNull(),
    subscription_id: uuid()
      .notNull()
      .references(() => subscriptions.id, { onDelete: "cascade" }),
    event_id: uuid().notNull(),
    event_type: text().notNull(),
    occurred_at: instant().notNull(),
    /** The details of the event. The type is `json`, because `jsonb` would not keep the order of the fields. */
    detail: json().notNull(),
    /** The commit-order cursor of the event. It is the same for all deliveries of an event. */
    tx: transactionId().notNull(),
    seq: bigint({ mode: "bigint" }).notNull(),
    status: text().$type<(typeof DELIVERY_STATUSES)[number]>().notNull().default("pending"),
    attempts: integer().notNull().default(0),
    last_attempt_at: instant(),
    delivered_at: instant(),
    last_error: text(),
    request_headers: jsonb().$type<Record<string, string>>(),
    response_status: integer(),
    response_body: text(),
    response_ms: integer(),
  },
  (t) => [
    index("subscription_deliveries_by_subscription").on(t.subscription_id, t.created_at, t.id),
    index("subscription_deliveries_by_age").on(t.created_at),
    check("subscription_deliveries_status", isOneOf(t.status, DELIVERY_STATUSES)),
  ],
);
