import { sql } from "drizzle-orm";
import { boolean, check, index, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { created, id, isOneOf, json, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

export const FIELD_TYPES = ["text", "text_long", "integer", "decimal", "boolean", "date", "date_time", "url", "json"] as const;
export const VISIBILITIES = ["always", "if_set", "hidden"] as const;

export const task_custom_field_definitions = pgTable(
  "task_custom_field_definitions",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    field_key: text().notNull(),
    label: text().notNull(),
    field_type: text({ enum: FIELD_TYPES }).notNull(),
    ui_visibility: text({ enum: VISIBILITIES }).notNull(),
    validation_regex: text(),
    description: text(),
    required: boolean().notNull().default(false),
    default_value: json(),
    ...timestamps,
  },
  (t) => [
    unique("task_custom_field_definitions_key").on(t.organization_id, t.field_key),
    index("task_custom_field_definitions_by_label").on(t.organization_id, sql`lower(${t.label})`, t.id),
    check("task_custom_field_definitions_type", isOneOf(t.field_type, FIELD_TYPES)),
    check("task_custom_field_definitions_visibility", isOneOf(t.ui_visibility, VISIBILITIES)),
  ],
);

export const board_task_custom_fields = pgTable(
  "board_task_custom_fields",
  {
    ...id,
    ...created,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    definition_id: uuid()
      .notNull()
      .references(() => task_custom_field_definitions.id, { onDelete: "cascade" }),
  },
  (t) => [
    unique("board_task_custom_fields_definition").on(t.board_id, t.definition_id),
    index("board_task_custom_fields_by_definition").on(t.definition_id),
  ],
);

export const task_custom_field_values = pgTable(
  "task_custom_field_values",
  {
    ...id,
    task_id: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    definition_id: uuid()
      .notNull()
      .references(() => task_custom_field_definitions.id, { onDelete: "cascade" }),
    /** JSON null and SQL null both mean that somebody cleared the value. The default is then not used. */
    value: json(),
    ...timestamps,
  },
  (t) => [
    unique("task_custom_field_values_definition").on(t.task_id, t.definition_id),
    index("task_custom_field_values_by_definition").on(t.definition_id),
  ],
);
