import { sql } from "drizzle-orm";
import { check, index, integer, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { created, id, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

export const tags = pgTable(
  "tags",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    name: text().notNull(),
    slug: text().notNull(),
    color: text().notNull(),
    description: text(),
    ...timestamps,
  },
  (t) => [
    unique("tags_slug").on(t.organization_id, t.slug),
    index("tags_by_name").on(t.organization_id, sql`lower(${t.name})`, t.created_at, t.id),
    check("tags_color", sql`${t.color} ~ '^[0-9a-f]{6}$'`),
  ],
);

export const tag_assignments = pgTable(
  "tag_assignments",
  {
    ...id,
    ...created,
    task_id: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    tag_id: uuid()
      .notNull()
      .references(() => tags.id, { onDelete: "cascade" }),
    position: integer().notNull(),
  },
  (t) => [unique("tag_assignments_tag").on(t.task_id, t.tag_id), index("tag_assignments_by_tag").on(t.tag_id)],
);
