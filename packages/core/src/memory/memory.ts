import { and, count, desc, eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { type Page, type PageQuery, pageQuery, readPage } from "../page.ts";
import { Blankable, Id, Instant, MAX_NAME, MAX_OBJECT_BYTES, MAX_TEXT, QueryBoolean, rule } from "../wire.ts";
import { board_memory } from "./memory.sql.ts";

const MAX_KEY = 200;
const MAX_TAGS = 50;

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
    tags: z
      .array(z.string().max(MAX_NAME))
      .max(MAX_TAGS)
      .nullable()
      .default(null)
      .describe("Labels; `chat` makes it a chat message."),
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

/** What a board remembers, newest first. */
export async function listMemory(ctx: Context<User | Agent>, board_id: string, query: MemoryQuery): Promise<Page<MemoryEntry>> {
  const board = await boardFor(ctx, board_id, "read");
  const where = and(
    eq(board_memory.board_id, board.id),
    query.is_chat === undefined ? undefined : eq(board_memory.is_chat, query.is_chat),
    query.key === undefined ? undefined : eq(board_memory.memory_key, query.key),
  );
  return readPage(
    query,
    (limit, offset) =>
      ctx.db
        .select()
        .from(board_memory)
        .where(where)
        .orderBy(desc(board_memory.created_at), desc(board_memory.id))
        .limit(limit)
        .offset(offset),
    async () => (await ctx.db.select({ total: count() }).from(board_memory).where(where))[0]!.total,
    toEntry,
  );
}

/** Writes an entry for the caller. It is chat exactly when its tags say so. */
export async function writeMemory(ctx: Context<User | Agent>, board_id: string, input: WriteMemory): Promise<MemoryEntry> {
  const board = await boardFor(ctx, board_id, "write");
  const { key: memory_key, value = null, tags } = input;
  const content = input.content ?? (typeof value === "string" ? value : JSON.stringify(value));
  if (!content.trim()) throw new DomainError("invalid", "content must not be blank");
  const is_chat = tags?.includes("chat") ?? false;
  const author = ctx.actor.type === "agent" ? ctx.actor.name : ctx.actor.display_name;
  const source = input.source ?? (is_chat ? author : null);
  return remember(ctx, { board_id: board.id, memory_key, value, content, tags, source, is_chat });
}

async function remember(ctx: Context, entry: typeof board_memory.$inferInsert): Promise<MemoryEntry> {
  const [row] = await newEntry(ctx, entry).returning();
  return toEntry(row!);
}

/** The insert of an entry, for `writeTogether`. */
export const newEntry = (ctx: Context, entry: typeof board_memory.$inferInsert) => ctx.db.insert(board_memory).values(entry);

function toEntry(row: typeof board_memory.$inferSelect): MemoryEntry {
  const { id, board_id, memory_key, value, content, tags, source, is_chat, created_at } = row;
  return { id, board_id, key: memory_key, value, content, tags, source, is_chat, created_at: created_at.toISOString() };
}
