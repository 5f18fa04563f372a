import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { ACTOR_SETTING, commitOrder, instant, isOneOf, transactionId } from "./columns.ts";

export const CHANGE_TYPES = ["task", "comment", "approval", "memory", "agent", "board", "run", "budget", "artifact"] as const;
export const CHANGE_ACTIONS = ["created", "updated", "removed"] as const;
export const CHANGE_ACTORS = ["user", "agent", "system"] as const;

const acting = (part: 1 | 2) => sql.raw(`nullif(split_part(current_setting('${ACTOR_SETTING}', true), ':', ${part}), '')`);

/**
 * The entries of the changes feed, at most one per action, item and transaction. Triggers of a migration write them
 * (docs/decisions/changes-by-trigger.md). They have no foreign keys, because an entry outlives its item.
 */
export const changes = pgTable(
  "changes",
  {
    ...commitOrder,
    organization_id: uuid().notNull(),
    /** Null for the main agent of a gateway. */
    board_id: uuid(),
    type: text({ enum: CHANGE_TYPES }).notNull(),
    action: text({ enum: CHANGE_ACTIONS }).notNull(),
    id: uuid().notNull(),
    task_id: uuid(),
    at: instant().notNull().default(sql`statement_timestamp()`),
    actor_type: text({ enum: CHANGE_ACTORS })
      .notNull()
      .default(sql`coalesce(${acting(1)}, 'system')`),
    actor_id: uuid().default(sql`${acting(2)}::uuid`),
    /** Set only for a removed board: its gateway, and the members who could read it through a right to this board alone. */
    readers: uuid().array(),
  },
  (t) => [
    primaryKey({ columns: [t.tx, t.id, t.action] }),
    index("changes_by_organization").on(t.organization_id, t.tx, t.seq),
    index("changes_by_board").on(t.board_id, t.tx, t.seq),
    index("changes_without_board").on(t.organization_id, t.tx, t.seq).where(sql`board_id is null`),
    index("changes_of_removed_boards").on(t.organization_id, t.id).where(sql`type = 'board' and action = 'removed'`),
    check("changes_type", isOneOf(t.type, CHANGE_TYPES)),
    check("changes_action", isOneOf(t.action, CHANGE_ACTIONS)),
    check("changes_actor", isOneOf(t.actor_type, CHANGE_ACTORS)),
  ],
);

/**
 * One row with the position of the newest entry that was removed because of its age. A reader whose cursor is at or before this
 * position has missed entries.
 */
export const changes_removed = pgTable(
  "changes_removed",
  {
    only: boolean().primaryKey().default(true),
    tx: transactionId().notNull(),
    seq: bigint({ mode: "bigint" }).notNull(),
  },
  (t) => [check("changes_removed_only", sql`${t.only}`)],
);
