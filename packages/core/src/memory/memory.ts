import { and, desc, eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError } from "../errors.ts";
import { type Page, type PageQuery, pageQuery, readPage } from "../page.ts";
import { cursorOf } from "../stream/cursor.ts";
import { Since } from "../stream/since.ts";
import { inOrder, type Source, within } from "../stream/source.ts";
import { Blankable, Id, Instant, MAX_NAME, MAX_OBJECT_BYTES, MAX_TEXT, QueryBoolean, rule } from "../wire.ts";
import { announce, nameOf } from "./chat.ts";
import { board_memory } from "./memory.sql.ts";

const MAX_KEY = 200;
const MAX_TAGS = 50;

/** Labels of an entry, as they are sent. */
export const Tags = z
  .array(z.string().max(MAX_NAME))
  .max(MAX_TAGS)
  .nullable()
  .default(null)
  .describe("Labels; `chat` makes it a chat message.");

export const MemoryEntry = z
  .object({
    id: Id.describe("Id of the entry."),
    board_id: Id.describe("Board that remembers."),
    key: z.string().nullable().describe("Key under which a value was kept."),
    value: z.unknown().nullable().describe("The value kept under the key, any JSON."),
    content: z.string().describe("The entry as text."),
    tags: z.array(z.string()).nullable().describe("Labels; `chat` makes it a chat message."),
    source: z.string().nullable().describe("Where it comes from."),
    is_chat: z.boolean().describe("A chat message; otherwise a durable note."),
    created_at: Instant.describe("When it was written."),
  })
  .meta({ id: "BoardMemoryEntry", description: "Something a board remembers. The newest entry of a key is its value." });
export type MemoryEntry = z.infer<typeof MemoryEntry>;

/** Any JSON, at most 64 KB of it as text. */
const Value = z.unknown().refine((value) => value === undefined || Buffer.byteLength(JSON.stringify(value)) <= MAX_OBJECT_BYTES, {
  error: `Value should have at most ${MAX_OBJECT_BYTES} bytes`,
});

export const WriteMemory = z
  .object({
    key: z.string().trim().min(1).max(MAX_KEY).nullable().default(null).describe("Key to keep a value under."),
    value: Value.optional().describe("Text or any JSON to keep."),
    content: z.string().max(MAX_TEXT).nullable().default(null).describe("Text of the entry; the value as text when absent."),
    tags: Tags,
    source: Blankable(MAX_NAME).default(null).describe("Where it comes from; the author's name for chat."),
  })
  .refine((entry) => entry.content !== null || entry.value !== undefined, rule("content or value is required"))
  .meta({ id: "BoardMemoryWrite" });
export type WriteMemory = z.infer<typeof WriteMemory>;

export const MemoryQuery = pageQuery().extend({
  is_chat: QueryBoolean.optional().describe("Only chat messages, or only notes."),
  key: z.string().max(MAX_KEY).optional().describe("Only entries of this key."),
});
export interface MemoryQuery extends PageQuery {
  is_chat?: boolean | undefined;
  key?: string | undefined;
}

export const MemoryStreamQuery = z.object({
  since: Since,
  is_chat: QueryBoolean.optional().describe("Only chat messages, or only notes."),
});

export const MemoryEvent = z
  .object({ memory: MemoryEntry.describe("The new entry.") })
  .meta({ id: "BoardMemoryEvent", description: "The data of a `memory` event." });

/** What a board remembers, newest first. */
export async function listMemory(ctx: Context<User | Agent>, board_id: string, query: MemoryQuery): Promise<Page<MemoryEntry>> {
  const board = await boardFor(ctx, board_id, "read");
  const where = and(
    eq(board_memory.board_id, board.id),
    query.is_chat === undefined ? undefined : eq(board_memory.is_chat, query.is_chat),
    query.key === undefined ? undefined : eq(board_memory.memory_key, query.key),
  );
  const total = ctx.db.$count(board_memory, where);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: board_memory, total })
        .from(board_memory)
        .where(where)
        .orderBy(desc(board_memory.created_at), desc(board_memory.id))
        .limit(limit)
        .offset(offset),
    toEntry,
  );
}

const order = { tx: board_memory.tx, seq: board_memory.seq, at: board_memory.created_at };

/** What is written into a board's memory from now on. */
export async function followMemory(ctx: Context<User | Agent>, board_id: string, is_chat?: boolean): Promise<Source> {
  const board = await boardFor(ctx, board_id, "read");
  const wanted = and(eq(board_memory.board_id, board.id), is_chat === undefined ? undefined : eq(board_memory.is_chat, is_chat));
  return {
    key: `memory ${board.id} ${is_chat}`,
    event: "memory",
    async read(ctx, window) {
      const rows = await ctx.db
        .select()
        .from(board_memory)
        .where(and(wanted, within(window, order)))
        .orderBy(...inOrder(window, order))
        .limit(window.limit);
      return rows.map((row) => ({ id: row.id, cursor: cursorOf(row.tx, row.seq), data: { memory: toEntry(row) } }));
    },
  };
}

/** Writes an entry for the caller. It is chat exactly when its tags say so; then agents of the board are told. */
export async function writeMemory(ctx: Context<User | Agent>, board_id: string, input: WriteMemory): Promise<MemoryEntry> {
  const board = await boardFor(ctx, board_id, "write");
  const { key: memory_key, value = null, tags } = input;
  const content = input.content ?? (typeof value === "string" ? value : JSON.stringify(value));
  if (!content.trim()) throw new DomainError("invalid", "content must not be blank");
  const is_chat = tags?.includes("chat") ?? false;
  const source = input.source ?? (is_chat ? nameOf(ctx.actor) : null);
  const entry = { board_id: board.id, memory_key, value, content, tags, source, is_chat };
  if (!is_chat) return remember(ctx, entry);
  return transaction(ctx, async (ctx) => {
    const said = await remember(ctx, entry);
    await announce(ctx, board, said.content);
    return said;
  });
}

async function remember(ctx: Context, entry: typeof board_memory.$inferInsert): Promise<MemoryEntry> {
  const [row] = await newEntry(ctx, entry).returning();
  return toEntry(row!);
}

/** The insert of an entry, for `writeTogether`. */
export const newEntry = (ctx: Context, entry: typeof board_memory.$inferInsert) => ctx.db.insert(board_memory).values(entry);

export function toEntry(row: typeof board_memory.$inferSelect): MemoryEntry {
  const { id, board_id, memory_key, value, content, tags, source, is_chat, created_at } = row;
  return { id, board_id, key: memory_key, value, content, tags, source, is_chat, created_at: created_at.toISOString() };
}
