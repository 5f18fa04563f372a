import { sql } from "drizzle-orm";
import { boards } from "../schema/board.sql.ts";
import { board_memory, pauseCommandList } from "../schema/memory.sql.ts";

/**
 * A board is paused when the newest pause command in its chat is `/pause`. The index `board_memory_commands` finds this command.
 */
export const isPaused = sql<boolean>`coalesce((
  select lower(trim(memory.content)) = '/pause' from ${board_memory} as memory
  where memory.board_id = ${boards}.id and memory.is_chat and lower(trim(memory.content)) in (${pauseCommandList})
  order by memory.created_at desc, memory.id desc limit 1), false)`;
