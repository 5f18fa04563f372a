import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { bytes, commitOrder, created, id, instant, isOneOf, timestamps } from "./columns.ts";
import { RUN_STATUSES, tasks } from "./task.sql.ts";

export interface RunClient {
  name: string;
  version: string | null;
  host: string | null;
}

export const RUN_LINK_KINDS = ["branch", "commit", "pull_request", "url"] as const;
export interface RunLink {
  kind: (typeof RUN_LINK_KINDS)[number];
  url: string;
  title: string | null;
}

/** The usage of one model in a run. */
export interface ModelUsage {
  model: string;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  reasoning_tokens: number;
  /** A decimal number as text; null if nobody reported a price. */
  cost_usd: string | null;
  turns: number;
}

/** What is added to a run so often that not every addition is recorded as a change. */
export const RUN_ADDITIONS = ["steps", "usage"] as const;

const counter = () => bigint({ mode: "number" }).notNull().default(0);

/**
 * One attempt of an agent on a task. Triggers on `tasks` begin and end it in the statement that changes the task
 * (docs/decisions/runs-by-trigger.md). The agent is not a foreign key, so that a run still shows the id of a removed agent.
 */
export const runs = pgTable(
  "runs",
  {
    ...id,
    board_id: uuid().notNull(),
    task_id: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    agent_id: uuid().notNull(),
    agent_name: text().notNull(),
    /** The fence of the lease. It increases when the agent leases the same task again. */
    fence: integer().notNull(),
    status: text({ enum: RUN_STATUSES }).notNull().default("running"),
    started_at: instant().notNull(),
    ended_at: instant(),
    /** Why the run ended, in one sentence; null if the work was submitted. */
    ended_reason: text(),
    client: jsonb().$type<RunClient>(),
    links: jsonb().$type<RunLink[]>().notNull().default([]),
    input_tokens: counter(),
    output_tokens: counter(),
    cached_input_tokens: counter(),
    reasoning_tokens: counter(),
    /** Null if nobody reported a price. */
    cost_usd: numeric(),
    turns: integer().notNull().default(0),
    models: jsonb().$type<ModelUsage[]>().notNull().default([]),
    /** How many steps were stored. This is also the number of the next step. */
    steps: integer().notNull().default(0),
    /** Bytes of all steps before compression. */
    step_bytes: counter(),
    /** Whether the run has reached the limit of steps, so that no more are stored. */
    steps_full: boolean().notNull().default(false),
    /** When the steps were removed because of their age. */
    steps_expired_at: instant(),
    /** When the steps, except small batches, were moved to the body storage. */
    steps_moved_at: instant(),
    /** When new steps or usage were last recorded as a change of the run. */
    steps_recorded_at: instant(),
    /**
     * What was added since `steps_recorded_at`: only steps, or usage and perhaps steps. After usage, a change of the task is
     * recorded too, because the sums of the task have changed.
     */
    unrecorded: text({ enum: RUN_ADDITIONS }),
    ...timestamps,
  },
  (t) => [
    uniqueIndex("runs_running").on(t.task_id).where(sql`status = 'running'`),
    index("runs_by_task").on(t.task_id, t.started_at, t.id),
    index("runs_by_board").on(t.board_id, t.started_at, t.id),
    index("runs_by_status").on(t.board_id, t.status, t.started_at, t.id),
    index("runs_by_agent").on(t.agent_id, t.started_at, t.id),
    index("runs_by_end").on(t.ended_at).where(sql`ended_at is not null`).concurrently(),
    index("runs_with_steps_to_move").on(t.ended_at).where(sql`steps > 0 and steps_moved_at is null and ended_at is not null`),
    index("runs_to_record").on(t.steps_recorded_at).where(sql`unrecorded is not null`).concurrently(),
    check("runs_unrecorded", isOneOf(t.unrecorded, RUN_ADDITIONS)),
    check("runs_status", isOneOf(t.status, RUN_STATUSES)),
    check("runs_ended", sql`(${t.status} = 'running') = (${t.ended_at} is null)`),
  ],
);

/** The steps of one request, compressed together. `first` is the number of the first step. */
export const run_steps = pgTable(
  "run_steps",
  {
    run_id: uuid()
      .notNull()
      .references(() => runs.id, { onDelete: "cascade" }),
    first: integer().notNull(),
    count: integer().notNull(),
    /** The position in commit order, for streams. Requests of the same run store their steps one after the other. */
    ...commitOrder,
    /** Null after the steps were moved to the body storage. Then `body_key` is their key there, and `body_bytes` their size. */
    body: bytes(),
    body_key: text(),
    body_bytes: integer().notNull(),
    ...created,
  },
  (t) => [
    primaryKey({ columns: [t.run_id, t.first] }),
    index("run_steps_in_commit_order").on(t.run_id, t.tx, t.first),
    index("run_steps_by_age").on(t.created_at),
    index("run_steps_in_body_storage").on(t.body_key).where(sql`body_key is not null`),
  ],
);
