import { sql } from "drizzle-orm";
import { bigint, check, index, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { bytes, created, id, instant, isOneOf } from "./columns.ts";
import { organizations, users } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

export const ARTIFACT_STATUSES = ["uploading", "ready"] as const;

/**
 * Files of tasks. Small content is in the row. Larger content is in the file storage, under a key made of the ids of the
 * organization and the artifact. When a row is removed, a trigger records its object in `artifact_orphans`.
 */
export const artifacts = pgTable(
  "artifacts",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    task_id: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    /** The run that created the artifact. There is no foreign key, because the id is only shown. */
    run_id: uuid(),
    name: text().notNull(),
    /** The type that the uploader declared. Once the upload is complete, this is the type that was detected from the content. */
    content_type: text().notNull(),
    size: bigint({ mode: "number" }).notNull(),
    sha256: text().notNull(),
    status: text({ enum: ARTIFACT_STATUSES }).notNull(),
    content: bytes(),
    agent_id: uuid(),
    user_id: uuid().references(() => users.id, { onDelete: "set null" }),
    ...created,
    completed_at: instant(),
  },
  (t) => [
    index("artifacts_by_task").on(t.task_id, t.created_at, t.id),
    index("artifacts_by_board").on(t.board_id),
    // This index finds the largest files of an organization, which its people may want to remove.
    index("artifacts_by_size").on(t.organization_id, t.size, t.id).concurrently(),
    index("artifacts_by_user").on(t.user_id).where(sql`user_id is not null`),
    index("artifacts_unfinished").on(t.created_at).where(sql`status = 'uploading'`),
    check("artifacts_status", isOneOf(t.status, ARTIFACT_STATUSES)),
  ],
);

/**
 * The bytes of an organization's artifacts, including uploads in progress. A trigger subtracts the bytes of removed artifacts.
 */
export const artifact_usage = pgTable("artifact_usage", {
  organization_id: uuid()
    .primaryKey()
    .references(() => organizations.id, { onDelete: "cascade" }),
  bytes: bigint({ mode: "number" }).notNull(),
});

/**
 * Objects in the file storage whose artifact was removed. There are no foreign keys, because the rows outlive their organization.
 */
export const artifact_orphans = pgTable(
  "artifact_orphans",
  {
    artifact_id: uuid().primaryKey(),
    organization_id: uuid().notNull(),
    /** When the object is deleted. By then, an upload that was running during the removal has ended. */
    due_at: instant().notNull(),
  },
  (t) => [index("artifact_orphans_by_due").on(t.due_at)],
);

/** The files of a diff that a person has reviewed. */
export const artifact_reviews = pgTable(
  "artifact_reviews",
  {
    artifact_id: uuid()
      .notNull()
      .references(() => artifacts.id, { onDelete: "cascade" }),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    paths: text().array().notNull(),
    updated_at: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.artifact_id, t.user_id] }),
    index("artifact_reviews_by_user").on(t.user_id),
    index("artifact_reviews_by_organization").on(t.organization_id),
  ],
);
