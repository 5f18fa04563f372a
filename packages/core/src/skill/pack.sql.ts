import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { id, timestamps } from "../db/columns.ts";
import { organizations } from "../organization/organization.sql.ts";

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
    metadata: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    ...timestamps,
  },
  (t) => [
    unique("skill_packs_url").on(t.organization_id, t.source_url),
    index("skill_packs_by_organization").on(t.organization_id, t.created_at, t.id),
    check("skill_packs_host", sql`${t.source_url} like 'https://github.com/%'`),
  ],
);
