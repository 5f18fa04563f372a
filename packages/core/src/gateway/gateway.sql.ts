import { sql } from "drizzle-orm";
import { boolean, check, index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { bytes, id, instant, timestamps } from "../db/columns.ts";
import { organizations } from "../organization/organization.sql.ts";

export const gateways = pgTable(
  "gateways",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    name: text().notNull(),
    url: text().notNull(),
    token_sealed: bytes(),
    workspace_root: text().notNull(),
    disable_device_pairing: boolean().notNull().default(false),
    allow_insecure_tls: boolean().notNull().default(false),
    version: text(),
    connected: boolean().notNull().default(false),
    last_error: text(),
    checked_at: instant(),
    ...timestamps,
  },
  (t) => [
    index("gateways_by_organization").on(t.organization_id, t.created_at, t.id),
    check("gateways_not_blank", sql`trim(${t.name}) <> '' and trim(${t.url}) <> '' and trim(${t.workspace_root}) <> ''`),
  ],
);
