import type { SQL, SQLWrapper } from "drizzle-orm";
import { boolean, index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { board_groups } from "./board.sql.ts";
import { commitOrder, created, id } from "./columns.ts";
import { wordsVector } from "./search-vector.ts";

/** Returns the words by which a search finds an entry. */
export const groupMemoryWords = (t: Record<"board_group_id" | "words" | "content", SQLWrapper>): SQL =>
  wordsVector(t.board_group_id, t.words, t.content);

export const board_group_memory = pgTable(
  "board_group_memory",
  {
    ...id,
    ...created,
    board_group_id: uuid()
      .notNull()
      .references(() => board_groups.id, { onDelete: "cascade" }),
    content: text().notNull(),
    tags: text().array(),
    source: text(),
    is_chat: boolean().notNull().default(false),
    /** The words of the content, for searches. Null in rows that are older than this column. */
    words: text(),
    ...commitOrder,
  },
  (t) => [
    index("board_group_memory_by_group").on(t.board_group_id, t.created_at, t.id),
    index("board_group_memory_by_kind").on(t.board_group_id, t.is_chat, t.created_at, t.id),
    index("board_group_memory_by_word").using("gin", groupMemoryWords(t)).concurrently(),
    index("board_group_memory_in_commit_order").on(t.board_group_id, t.tx, t.seq),
  ],
);
