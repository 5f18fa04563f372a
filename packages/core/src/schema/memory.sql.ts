import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { boolean, check, index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { CHANGE_ACTORS } from "./change.sql.ts";
import { commitOrder, created, id, isOneOf, json } from "./columns.ts";
import { wordsVector } from "./search-vector.ts";

/** Chat messages that pause and resume a board. They are case-insensitive, and spaces around them are ignored. */
export const PAUSE_COMMANDS = ["/pause", "/resume"] as const;

/** The commands as an SQL list. The index and the queries that use it must contain exactly this SQL. */
export const pauseCommandList = sql.raw(PAUSE_COMMANDS.map((command) => `'${command}'`).join(", "));

/** Returns the words by which a search finds an entry. */
export const memoryWords = (t: Record<"board_id" | "words" | "memory_key" | "content", SQLWrapper>): SQL =>
  wordsVector(t.board_id, t.words, t.memory_key, t.content);

/** Entries are only ever added. The current value of a key is in its newest entry. */
export const board_memory = pgTable(
  "board_memory",
  {
    ...id,
    ...created,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    memory_key: text(),
    value: json(),
    content: text().notNull(),
    tags: text().array(),
    /** The origin as the author stated it. It is not verified. */
    source: text(),
    /**
     * Who wrote the entry. Null in rows that are older than this column. There is no foreign key, because an entry outlives its
     * author.
     */
    author_type: text({ enum: CHANGE_ACTORS }),
    author_id: uuid(),
    is_chat: boolean().notNull().default(false),
    /** The words of key and content, for searches. Null in rows that are older than this column. */
    words: text(),
    ...commitOrder,
  },
  (t) => [
    index("board_memory_by_board").on(t.board_id, t.created_at, t.id),
    index("board_memory_by_kind").on(t.board_id, t.is_chat, t.created_at, t.id),
    index("board_memory_by_key").on(t.board_id, t.memory_key, t.created_at, t.id).where(sql`memory_key is not null`),
    index("board_memory_commands")
      .on(t.board_id, t.created_at, t.id)
      .where(sql`is_chat and lower(trim(content)) in (${pauseCommandList})`),
    index("board_memory_by_word").using("gin", memoryWords(t)).concurrently(),
    index("board_memory_in_commit_order").on(t.board_id, t.tx, t.seq),
    check("board_memory_author", isOneOf(t.author_type, CHANGE_ACTORS)),
  ],
);
