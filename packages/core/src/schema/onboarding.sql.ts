import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { id, timestamps } from "./columns.ts";

export interface OnboardingMessage {
  role: "user" | "assistant";
  content: string;
  timestamp: string;
}

export const board_onboarding_sessions = pgTable(
  "board_onboarding_sessions",
  {
    ...id,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    session_key: text().notNull(),
    status: text().$type<"active" | "completed" | "confirmed">().notNull().default("active"),
    messages: jsonb().$type<OnboardingMessage[]>().notNull().default([]),
    draft_goal: jsonb().$type<Record<string, unknown>>(),
    ...timestamps,
  },
  (t) => [
    uniqueIndex("board_onboarding_one_active").on(t.board_id).where(sql`status = 'active'`),
    index("board_onboarding_by_board").on(t.board_id, t.updated_at, t.id),
    check("board_onboarding_status", sql`${t.status} in ('active', 'completed', 'confirmed')`),
  ],
);
