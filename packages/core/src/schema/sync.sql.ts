import { sql } from "drizzle-orm";
import { boolean, check, index, integer, jsonb, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { created, id, instant } from "./columns.ts";
import { gateways } from "./gateway.sql.ts";

/** Runs of the template sync, with their options and results. */
export const sync_runs = pgTable(
  "sync_runs",
  {
    ...id,
    ...created,
    gateway_id: uuid()
      .notNull()
      .references(() => gateways.id, { onDelete: "cascade" }),
    /** What started the run. */
    cause: text().$type<"request" | "schedule">().notNull(),
    status: text().$type<"running" | "done">().notNull().default("running"),
    options: jsonb().$type<Record<string, unknown>>().notNull(),
    /** Errors and warnings that do not concern a single agent, or that concern an agent that was never processed. */
    errors: jsonb().$type<unknown[]>().notNull().default([]),
    warnings: jsonb().$type<unknown[]>().notNull().default([]),
    finished_at: instant(),
  },
  (t) => [
    index("sync_runs_by_gateway").on(t.gateway_id, t.created_at, t.id),
    check("sync_runs_status", sql`${t.status} in ('running', 'done')`),
    check("sync_runs_cause", sql`${t.cause} in ('request', 'schedule')`),
  ],
);

/** The agents of a run. A row leaves `waiting` only once, so that exactly one outcome completes the run. */
export const sync_run_agents = pgTable(
  "sync_run_agents",
  {
    ...id,
    run_id: uuid()
      .notNull()
      .references(() => sync_runs.id, { onDelete: "cascade" }),
    agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    agent_name: text().notNull(),
    board_id: uuid(),
    is_main: boolean().notNull(),
    position: integer().notNull(),
    status: text().$type<"waiting" | "success" | "error">().notNull().default("waiting"),
    error: text(),
    warnings: jsonb().$type<string[]>().notNull().default([]),
    files_written: integer().notNull().default(0),
  },
  (t) => [
    unique("sync_run_agents_agent").on(t.run_id, t.agent_id),
    index("sync_run_agents_waiting").on(t.run_id).where(sql`status = 'waiting'`),
    index("sync_run_agents_by_agent").on(t.agent_id),
    check("sync_run_agents_status", sql`${t.status} in ('waiting', 'success', 'error')`),
  ],
);
