import { eq, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import { actorName, type Agent, type User } from "../context/actor.ts";
import { type Author, authorOf } from "../context/author.ts";
import type { Context } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import { largeJson, largeText, largeTexts, truncatable } from "../lists/large-fields.ts";
import { type Page, pageQuery } from "../lists/page.ts";
import { ClientId } from "../stream/client-id.ts";
import { Since } from "../stream/since.ts";
import type { Source } from "../stream/source.ts";
import {
  Id,
  Instant,
  MAX_NAME,
  MAX_OBJECT_BYTES,
  MAX_TEXT,
  TextOrNull,
  areValid,
  valueError,
  lazyObject,
} from "../values/wire.ts";
import { notifyBoardChat, notifyBoardNote } from "./chat-notifications.ts";
import { toSearchWords } from "../lists/search-words.ts";
import { SearchText } from "../lists/text-search.ts";
import { ChatFilter, createMemoryLog, MemoryTags } from "./memory-log.ts";
import { board_memory, memoryWords } from "../schema/memory.sql.ts";
import { prepareRowInsert } from "../db/prepared-write.ts";
import { filterBy } from "../lists/filter.ts";
import { parseMentions } from "../values/mention.ts";

const MAX_KEY = 200;

export const MemoryEntry = lazyObject(() => ({
  id: Id.describe("Id of the entry."),
  board_id: Id.describe("Board that the memory belongs to."),
  key: z.string().nullable().describe("Key that the value is stored under."),
  value: z.unknown().describe("The stored value: any JSON, or null."),
  content: z.string().describe("The entry as text."),
  tags: z.array(z.string()).nullable().describe("Labels; `chat` makes it a chat message."),
  source: z.string().nullable().describe("Where the entry comes from."),
  is_chat: z.boolean().describe("A chat message; otherwise a durable note."),
  created_at: Instant.describe("When it was written."),
  ...truncatable,
})).meta({ id: "BoardMemoryEntry", description: "An entry of a board's memory. The newest entry of a key holds its value." });
export type MemoryEntry = z.infer<typeof MemoryEntry>;

/** Any JSON value that has at most 64 KB as text. */
const MemoryValue = z
  .unknown()
  .refine((value) => value === undefined || Buffer.byteLength(JSON.stringify(value)) <= MAX_OBJECT_BYTES, {
    error: `Value should have at most ${MAX_OBJECT_BYTES} bytes`,
  });

export const CreateMemoryEntry = lazyObject(() => ({
  key: z.string().trim().min(1).max(MAX_KEY).nullable().default(null).describe("Key to store the value under."),
  value: MemoryValue.optional().describe("Text or any JSON to store."),
  content: z.string().max(MAX_TEXT).nullable().default(null).describe("Text of the entry; the value as text when absent."),
  tags: MemoryTags,
  source: TextOrNull(MAX_NAME).default(null).describe("Where the entry comes from; defaults to the author's name for chat."),
}))
  .refine((entry) => entry.content !== null || entry.value !== undefined, {
    ...valueError("content or value is required"),
    when: areValid("content", "value"),
  })
  .meta({ id: "BoardMemoryWrite" });
export type CreateMemoryEntry = z.infer<typeof CreateMemoryEntry>;

export const MemoryQuery = lazyObject(() => ({
  ...pageQuery().shape,
  is_chat: ChatFilter,
  key: z.string().max(MAX_KEY).optional().describe("Only entries of this key."),
  q: SearchText,
}));
export type MemoryQuery = z.infer<typeof MemoryQuery> & {
  /** Labels; the entry must have at least one of them. */
  tags?: readonly string[] | undefined;
};

export const MemoryStreamQuery = lazyObject(() => ({
  since: Since,
  client_id: ClientId,
  is_chat: ChatFilter,
}));

export const MemoryEvent = lazyObject(() => ({ memory: MemoryEntry.describe("The new entry.") })).meta({
  id: "BoardMemoryEvent",
  description: "The data of a `memory` event.",
});

/** The fields of an entry that a list shortens when the answer would be too large. */
export const LARGE_MEMORY_FIELDS = { value: largeJson, content: largeText, tags: largeTexts };

const boardMemory = createMemoryLog({
  table: board_memory,
  owner: board_memory.board_id,
  key: "memory",
  words: memoryWords(board_memory),
  large: LARGE_MEMORY_FIELDS,
  toEntry: toMemoryEntry,
});

/** Lists the memory of a board, newest entry first. */
export const listMemory = (ctx: Context<User | Agent>, board_id: string, query: MemoryQuery): Promise<Page<MemoryEntry>> =>
  listEntries(ctx, board_id, query, toMemoryEntry);

/** An entry with its author, or null if the author was not recorded. */
export type AuthoredEntry = MemoryEntry & { author: Author | null };

/** Lists the memory of a board with the author of each entry, newest entry first. */
export const listAuthoredMemory = (
  ctx: Context<User | Agent>,
  board_id: string,
  query: MemoryQuery,
): Promise<Page<AuthoredEntry>> =>
  listEntries(ctx, board_id, query, (row) => {
    const { author_type, author_id } = row;
    return { ...toMemoryEntry(row), author: author_type && { type: author_type, id: author_id } };
  });

async function listEntries<Entry extends object>(
  ctx: Context<User | Agent>,
  board_id: string,
  query: MemoryQuery,
  toEntry: (row: typeof board_memory.$inferSelect) => Entry,
): Promise<Page<Entry>> {
  const board = await boardFor(ctx, board_id, "read");
  const { key, tags = [] } = query;
  const filters = [
    filterBy("key", key, (key) => eq(board_memory.memory_key, key)),
    filterBy("tags", tags.length === 0 ? undefined : [...tags], (tags) => sql`${board_memory.tags} && ${tags}::text[]`),
  ];
  return boardMemory.list(ctx, board.id, query, { filters, toEntry });
}

/** Returns a stream of the entries that are written to a board's memory from now on. */
export async function followMemory(ctx: Context<User | Agent>, board_id: string, is_chat?: boolean): Promise<Source> {
  return boardMemory.follow(await boardFor(ctx, board_id, "read"), is_chat);
}

/**
 * Writes an entry for the caller. The tag `chat` makes it a chat message, and agents of the board are notified about it. People are
 * notified of every entry that mentions them.
 */
export async function createMemoryEntry(
  ctx: Context<User | Agent>,
  board_id: string,
  input: CreateMemoryEntry,
): Promise<MemoryEntry> {
  const board = await boardFor(ctx, board_id, "write");
  const { key: memory_key, value = null, tags } = input;
  const content = input.content ?? (typeof value === "string" ? value : JSON.stringify(value));
  if (!content.trim()) throw new DomainError("invalid", "content must not be blank");
  const is_chat = tags?.includes("chat") ?? false;
  const source = input.source ?? (is_chat ? actorName(ctx.actor) : null);
  const words = toSearchWords(memory_key, content);
  const { type: author_type, id: author_id } = authorOf(ctx.actor);
  const entry = { board_id: board.id, memory_key, value, content, words, tags, source, is_chat, author_type, author_id };
  const notify = is_chat ? notifyBoardChat : parseMentions(content).size > 0 ? notifyBoardNote : null;
  return boardMemory.create(ctx, entry, notify ? (ctx) => notify(ctx, board, content) : undefined);
}

/** The insert of an entry, for `runBatch`. */
export const insertMemoryEntry = prepareRowInsert("memory entry", board_memory, [
  "board_id",
  "content",
  "words",
  "tags",
  "source",
  "author_type",
]);

export function toMemoryEntry(row: typeof board_memory.$inferSelect): MemoryEntry {
  const { id, board_id, memory_key, value, content, tags, source, is_chat, created_at } = row;
  return { id, board_id, key: memory_key, value, content, tags, source, is_chat, created_at: created_at.toISOString() };
}
