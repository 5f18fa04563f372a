import { sql } from "drizzle-orm";
import { boolean, check, index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { bytes, created, id, instant, isOneOf, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

/**
 * The agents of a `pull` gateway poll the service for work. Such a gateway has no host, so the service does not connect to
 * anything.
 */
export const GATEWAY_KINDS = ["openclaw", "pull"] as const;
export type GatewayKind = (typeof GATEWAY_KINDS)[number];

export const gateways = pgTable(
  "gateways",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    name: text().notNull(),
    kind: text({ enum: GATEWAY_KINDS }).notNull().default("openclaw"),
    /** Like `workspace_root`, this is blank if the gateway has no host. */
    url: text().notNull(),
    token_sealed: bytes(),
    workspace_root: text().notNull(),
    disable_device_pairing: boolean().notNull().default(false),
    allow_insecure_tls: boolean().notNull().default(false),
    version: text(),
    connected: boolean().notNull().default(false),
    last_error: text(),
    checked_at: instant(),
    /** Minutes between scheduled template syncs; null if they are off. */
    sync_interval_minutes: integer(),
    /** Time of the next scheduled sync; null if no interval is set. */
    sync_due_at: instant(),
    ...timestamps,
  },
  (t) => [
    index("gateways_by_organization").on(t.organization_id, t.created_at, t.id),
    index("gateways_by_sync_due").on(t.sync_due_at).where(sql`sync_due_at is not null`),
    check("gateways_sync_interval", sql`${t.sync_interval_minutes} between 5 and 525600`),
    check("gateways_kind", isOneOf(t.kind, GATEWAY_KINDS)),
    check(
      "gateways_not_blank",
      sql`trim(${t.name}) <> '' and (${t.kind} = 'pull' or (trim(${t.url}) <> '' and trim(${t.workspace_root}) <> ''))`,
    ),
  ],
);

/** A `warned` host is connected, but its version is too old or unknown. */
export const HOST_STATES = ["connected", "warned", "disconnected"] as const;

/** When the connectivity of a gateway changed. Only the newest entries of a gateway are kept. */
export const gateway_connectivity = pgTable(
  "gateway_connectivity",
  {
    ...id,
    ...created,
    gateway_id: uuid()
      .notNull()
      .references(() => gateways.id, { onDelete: "cascade" }),
    state: text({ enum: HOST_STATES }).notNull(),
    version: text(),
    error: text(),
  },
  (t) => [
    index("gateway_connectivity_by_gateway").on(t.gateway_id, t.created_at, t.id),
    check("gateway_connectivity_state", isOneOf(t.state, HOST_STATES)),
  ],
);
