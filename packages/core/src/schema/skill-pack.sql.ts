import { sql } from "drizzle-orm";
import { check, index, integer, jsonb, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { created, id, instant, json, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

export const skill_packs = pgTable(
  "skill_packs",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    name: text().notNull(),
    description: text(),
    source_url: text().notNull(),
    branch: text().notNull().default("main"),
    metadata: json().$type<Record<string, unknown>>().notNull().default({}),
    ...timestamps,
  },
  (t) => [
    unique("skill_packs_url").on(t.organization_id, t.source_url),
    index("skill_packs_by_organization").on(t.organization_id, t.created_at, t.id),
    check("skill_packs_host", sql`${t.source_url} like 'https://github.com/%'`),
  ],
);

/** Syncs of packs, with their states and results. */
export const skill_pack_syncs = pgTable(
  "skill_pack_syncs",
  {
    ...id,
    ...created,
    pack_id: uuid()
      .notNull()
      .references(() => skill_packs.id, { onDelete: "cascade" }),
    status: text().$type<"running" | "done" | "failed">().notNull().default("running"),
    synced: integer().notNull().default(0),
    created: integer().notNull().default(0),
    updated: integer().notNull().default(0),
    warnings: jsonb().$type<string[]>().notNull().default([]),
    error: text(),
    finished_at: instant(),
  },
  (t) => [
    index("skill_pack_syncs_by_pack").on(t.pack_id, t.created_at, t.id),
    check("skill_pack_syncs_status", sql`${t.status} in ('running', 'done', 'failed')`),
  ],
);
