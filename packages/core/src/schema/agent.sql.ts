import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { changeOrder, id, instant, timestamps } from "./columns.ts";
import { gateways } from "./gateway.sql.ts";
import { searchVector } from "./search-vector.ts";

export const AGENT_STATUSES = ["online", "updating", "deleting", "active", "provisioning", "ready", "offline"] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/**
 * Returns the words by which a search finds an agent. An agent belongs to the organization of its gateway, so the gateway is the
 * owner of the words in the index.
 */
export const agentWords = (t: Record<"gateway_id" | "name" | "identity_profile", SQLWrapper>): SQL =>
  searchVector(t.gateway_id, t.name, sql`(${t.identity_profile} ->> 'role')`);

export const agents = pgTable(
  "agents",
  {
    ...id,
    gateway_id: uuid()
      .notNull()
      .references(() => gateways.id, { onDelete: "cascade" }),
    /** Null for the main agent of the gateway. */
    board_id: uuid().references(() => boards.id, { onDelete: "cascade" }),
    name: text().notNull(),
    status: text().$type<AgentStatus>().notNull().default("provisioning"),
    is_board_lead: boolean().notNull().default(false),
    openclaw_session_id: text(),
    /** The PBKDF2 hash of the token, and its keyed digest, by which an index finds the agent. */
    agent_token_hash: text(),
    agent_token_lookup: text(),
    heartbeat_config: jsonb().$type<Record<string, unknown>>(),
    identity_profile: jsonb().$type<Record<string, string>>(),
    identity_template: text(),
    soul_template: text(),
    last_seen_at: instant(),
    previous_status: text().$type<AgentStatus>(),
    lifecycle_generation: integer().notNull().default(0),
    wake_attempts: integer().notNull().default(0),
    last_wake_sent_at: instant(),
    checkin_deadline_at: instant(),
    last_provision_error: text(),
    /** Null means no limit. */
    requests_per_minute: integer(),
    ...changeOrder,
    ...timestamps,
  },
  (t) => [
    uniqueIndex("agents_token_lookup").on(t.agent_token_lookup),
    uniqueIndex("agents_session").on(t.openclaw_session_id),
    uniqueIndex("agents_name_on_board").on(t.board_id, sql`lower(${t.name})`),
    uniqueIndex("agents_one_lead").on(t.board_id).where(sql`is_board_lead`),
    uniqueIndex("agents_one_main").on(t.gateway_id).where(sql`board_id is null`),
    index("agents_by_board").on(t.board_id, t.created_at, t.id),
    index("agents_by_gateway").on(t.gateway_id, t.created_at, t.id),
    index("agents_by_presence").on(t.status, t.last_seen_at),
    index("agents_by_deadline").on(t.checkin_deadline_at).where(sql`checkin_deadline_at is not null`),
    index("agents_by_wake").on(t.last_wake_sent_at).where(sql`last_wake_sent_at is not null`).concurrently(),
    index("agents_imported").on(t.created_at).where(sql`agent_token_lookup is null and agent_token_hash is not null`),
    index("agents_by_change").on(t.change_tx, t.change_seq),
    index("agents_by_word").using("gin", agentWords(t)).concurrently(),
    check("agents_lead_has_board", sql`not ${t.is_board_lead} or ${t.board_id} is not null`),
    check("agents_status", sql`${t.status} in (${sql.raw(AGENT_STATUSES.map((status) => `'${status}'`).join(", "))})`),
  ],
);
