import { sql } from "drizzle-orm";
import { boolean, check, index, integer, pgTable, text, timestamp, unique, uuid } from "drizzle-orm/pg-core";
import { bytes, created, id, instant, isOneOf, timestamps } from "./columns.ts";
import { organizations, users } from "./organization.sql.ts";
import { user_notifications } from "./people.sql.ts";

export const CHANNEL_TYPES = ["email", "push", "slack"] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];
export const CHANNEL_DELIVERY_STATUSES = ["pending", "sent", "failed", "dropped"] as const;

/** The channels through which people are notified outside the console. */
export const channels = pgTable(
  "channels",
  {
    ...id,
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    type: text().$type<ChannelType>().notNull(),
    /** The organization whose notifications it sends; null for the notifications of all organizations. */
    organization_id: uuid().references(() => organizations.id, { onDelete: "cascade" }),
    /** What the person calls the channel, such as a browser; null for e-mail. */
    name: text(),
    /** The digest of the address; empty for e-mail, where the address in the profile is used. */
    address_digest: text().notNull().default(""),
    /** The address, encrypted; null for e-mail. */
    address_sealed: bytes(),
    active: boolean().notNull().default(true),
    disabled_reason: text(),
    /** Time of the first failure after the last success. */
    failing_since: instant(),
    /** Nothing is sent before this time, because the last attempt failed. */
    retry_at: instant(),
    last_error: text(),
    last_sent_at: instant(),
    ...timestamps,
  },
  (t) => [
    unique("channels_address").on(t.user_id, t.type, t.address_digest),
    index("channels_by_address").on(t.address_digest).where(sql`address_digest <> ''`),
    index("channels_by_organization").on(t.organization_id).where(sql`organization_id is not null`),
    check("channels_type", isOneOf(t.type, CHANNEL_TYPES)),
  ],
);

/** Notifications to send through a channel. Each is stored together with the notification. */
export const channel_deliveries = pgTable(
  "channel_deliveries",
  {
    ...id,
    ...created,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: "cascade" }),
    notification_id: uuid()
      .notNull()
      .references(() => user_notifications.id, { onDelete: "cascade" }),
    type: text().$type<ChannelType>().notNull(),
    status: text().$type<(typeof CHANNEL_DELIVERY_STATUSES)[number]>().notNull().default("pending"),
    is_digest: boolean().notNull(),
    due_at: instant().notNull(),
    /** The worker that took the delivery has until this time to send it. */
    claimed_until: instant(),
    attempts: integer().notNull().default(0),
    last_error: text(),
    sent_at: timestamp({ withTimezone: true, precision: 3, mode: "date" }),
  },
  (t) => [
    unique("channel_deliveries_once").on(t.channel_id, t.notification_id),
    index("channel_deliveries_due").on(t.organization_id, t.type, t.due_at).where(sql`status = 'pending'`),
    index("channel_deliveries_by_notification").on(t.notification_id),
    index("channel_deliveries_by_age").on(t.created_at),
    check("channel_deliveries_status", isOneOf(t.status, CHANNEL_DELIVERY_STATUSES)),
    check("channel_deliveries_type", isOneOf(t.type, CHANNEL_TYPES)),
  ],
);

/**
 * The decisions of buttons that were used, so that each button works once. A row is removed when its button would have expired.
 */
export const used_decisions = pgTable("used_decisions", { ...id, ...created }, (t) => [
  index("used_decisions_by_age").on(t.created_at),
]);
