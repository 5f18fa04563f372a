import { sql } from "drizzle-orm";
import { index, jsonb, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { id, timestamps } from "./columns.ts";
import { gateways } from "./gateway.sql.ts";
import { organizations } from "./organization.sql.ts";

export const marketplace_skills = pgTable(
  "marketplace_skills",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    name: text().notNull(),
    description: text(),
    category: text(),
    risk: text(),
    /** The path within the pack. */
    source_label: text(),
    source_url: text().notNull(),
    metadata: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    ...timestamps,
  },
  (t) => [
    unique("marketplace_skills_url").on(t.organization_id, t.source_url),
    index("marketplace_skills_by_name").on(t.organization_id, sql`lower(${t.name})`, t.created_at, t.id),
    // A skill belongs to the pack whose URL equals the part of the skill's URL before `/tree/`.
    index("marketplace_skills_by_repository").on(t.organization_id, sql`split_part(${t.source_url}, '/tree/', 1)`),
  ],
);

/** The skills that a gateway's main agent was asked to install. `created_at` is the time of the first request. */
export const gateway_installed_skills = pgTable(
  "gateway_installed_skills",
  {
    ...id,
    gateway_id: uuid()
      .notNull()
      .references(() => gateways.id, { onDelete: "cascade" }),
    skill_id: uuid()
      .notNull()
      .references(() => marketplace_skills.id, { onDelete: "cascade" }),
    ...timestamps,
  },
  (t) => [
    unique("gateway_installed_skills_skill").on(t.gateway_id, t.skill_id),
    index("gateway_installed_skills_by_skill").on(t.skill_id),
  ],
);
