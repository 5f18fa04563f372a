import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { boolean, check, index, integer, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { id, instant, json, timestamps } from "./columns.ts";
import { gateways } from "./gateway.sql.ts";
import { organizations } from "./organization.sql.ts";
import { searchVector } from "./search-vector.ts";

export const board_groups = pgTable(
  "board_groups",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    name: text().notNull(),
    slug: text().notNull(),
    description: text(),
    ...timestamps,
  },
  (t) => [
    unique("board_groups_slug").on(t.organization_id, t.slug),
    index("board_groups_by_name").on(t.organization_id, sql`lower(${t.name})`, t.id),
  ],
);

/** Returns the words by which a search finds a board. */
export const boardWords = (t: Record<"organization_id" | "name" | "slug" | "description" | "objective", SQLWrapper>): SQL =>
  searchVector(t.organization_id, t.name, t.slug, t.description, t.objective);

export const boards = pgTable(
  "boards",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /**
     * A migration makes this foreign key deferrable, so that it is checked when the transaction ends: removing an organization
     * removes its boards and gateways in any order.
     */
    gateway_id: uuid()
      .notNull()
      .references(() => gateways.id),
    board_group_id: uuid().references(() => board_groups.id, { onDelete: "set null" }),
    name: text().notNull(),
    slug: text().notNull(),
    description: text().notNull(),
    board_type: text().$type<"goal" | "project" | "ops" | "general">().notNull().default("goal"),
    objective: text(),
    success_metrics: json().$type<Record<string, unknown>>(),
    target_date: instant(),
    goal_confirmed: boolean().notNull().default(false),
    goal_source: text().$type<"user" | "ai_generated">(),
    require_approval_for_done: boolean().notNull().default(true),
    require_review_before_done: boolean().notNull().default(false),
    comment_required_for_review: boolean().notNull().default(false),
    block_status_changes_with_pending_approval: boolean().notNull().default(false),
    only_lead_can_change_status: boolean().notNull().default(false),
    max_agents: integer().notNull().default(1),
    /** After how many minutes the next group of people is asked to decide on an approval. If null, no further group is asked. */
    escalate_after_minutes: integer(),
    ...timestamps,
  },
  (t) => [
    unique("boards_slug").on(t.organization_id, t.slug),
    index("boards_by_name").on(t.organization_id, sql`lower(${t.name})`, t.created_at, t.id),
    index("boards_by_gateway").on(t.gateway_id),
    index("boards_by_group").on(t.board_group_id),
    index("boards_by_word").using("gin", boardWords(t)).concurrently(),
    check("boards_type", sql`${t.board_type} in ('goal', 'project', 'ops', 'general')`),
    check("boards_goal_source", sql`${t.goal_source} in ('user', 'ai_generated')`),
    check("boards_max_agents", sql`${t.max_agents} >= 0`),
    check("boards_escalation", sql`${t.escalate_after_minutes} >= 1`),
  ],
);
