import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor, groupFor } from "../organization/access.ts";
import { actorName, type Member } from "../context/actor.ts";
import { board_groups } from "../schema/board.sql.ts";
import type { CallerContext, Context } from "../context/context.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { parseMentions } from "../values/mention.ts";
import { largeText, largeTexts, truncatable } from "../lists/large-fields.ts";
import { type Page, pageQuery } from "../lists/page.ts";
import type { Source } from "../stream/source.ts";
import { Id, Instant, MAX_NAME, MAX_TEXT, NonEmpty, TextOrNull, lazyObject } from "../values/wire.ts";
import { notifyGroupChat, notifyGroupNote } from "./chat-notifications.ts";
import { board_group_memory, groupMemoryWords } from "../schema/group-memory.sql.ts";
import { toSearchWords } from "../lists/search-words.ts";
import { SearchText } from "../lists/text-search.ts";
import { ChatFilter, createMemoryLog, MemoryTags } from "./memory-log.ts";

export const GroupMemoryEntry = lazyObject(() => ({
  id: Id.describe("Id of the entry."),
  board_group_id: Id.describe("Board group that the memory belongs to."),
  content: z.string().describe("The entry as text."),
  tags: z
    .array(z.string())
    .nullable()
    .describe("Labels; `chat` makes it a chat message, `broadcast` notifies every agent of the group."),
  source: z.string().nullable().describe("Where the entry comes from."),
  is_chat: z.boolean().describe("A chat message; otherwise a durable note."),
  created_at: Instant.describe("When it was written."),
  ...truncatable,
})).meta({ id: "BoardGroupMemoryEntry", description: "An entry of the memory that the boards of a group share." });
export type GroupMemoryEntry = z.infer<typeof GroupMemoryEntry>;

export const CreateGroupMemoryEntry = lazyObject(() => ({
  content: NonEmpty(MAX_TEXT).describe("Text of the entry; `@all` notifies every agent of the group."),
  tags: MemoryTags.describe("Labels; `chat` makes it a chat message, `broadcast` notifies every agent of the group."),
  source: TextOrNull(MAX_NAME).default(null).describe("Where the entry comes from; defaults to the author's name."),
})).meta({ id: "BoardGroupMemoryWrite" });
export type CreateGroupMemoryEntry = z.infer<typeof CreateGroupMemoryEntry>;

export const GroupMemoryQuery = lazyObject(() => ({ ...pageQuery().shape, is_chat: ChatFilter, q: SearchText }));
export type GroupMemoryQuery = z.infer<typeof GroupMemoryQuery>;

export const GroupMemoryEvent = lazyObject(() => ({ memory: GroupMemoryEntry.describe("The new entry.") })).meta({
  id: "BoardGroupMemoryEvent",
  description: "The data of a `memory` event.",
});

const groupMemory = createMemoryLog({
  table: board_group_memory,
  owner: board_group_memory.board_group_id,
  key: "group-memory",
  words: groupMemoryWords(board_group_memory),
  large: { content: largeText, tags: largeTexts },
  toEntry: toGroupMemoryEntry,
});

/** Lists the memory of a board group, newest entry first. */
export async function listGroupMemory(
  ctx: Context<Member>,
  group_id: string,
  query: GroupMemoryQuery,
): Promise<Page<GroupMemoryEntry>> {
  return groupMemory.list(ctx, (await groupFor(ctx, group_id, "read")).id, query, { toEntry: toGroupMemoryEntry });
}

/** Lists the memory of the board's group. Returns an empty page if the board is not in a group. */
export async function listGroupMemoryOfBoard(
  ctx: CallerContext,
  board_id: string,
  query: GroupMemoryQuery,
): Promise<Page<GroupMemoryEntry>> {
  const { limit, offset, cursor } = query;
  const { board_group_id } = await boardFor(ctx, board_id, "read");
  if (board_group_id === null && cursor === undefined) return { items: [], total: 0, limit, offset };
  // Without a group, the board's id is used as the owner. No entry has this owner, so the page is empty, but the cursor is still
  // checked.
  return groupMemory.list(ctx, board_group_id ?? board_id, query, { toEntry: toGroupMemoryEntry });
}

export async function createGroupMemoryEntry(
  ctx: Context<Member>,
  group_id: string,
  input: CreateGroupMemoryEntry,
): Promise<GroupMemoryEntry> {
  return createEntry(ctx, await groupFor(ctx, group_id, "write"), input);
}

export async function createGroupMemoryEntryOfBoard(
  ctx: CallerContext,
  board_id: string,
  input: CreateGroupMemoryEntry,
): Promise<GroupMemoryEntry> {
  const { board_group_id, organization_id } = await boardFor(ctx, board_id, "write");
  if (board_group_id === null) throw new DomainError("invalid", "Board is not in a board group");
  const [group] = await ctx.db
    .select()
    .from(board_groups)
    .where(and(eq(board_groups.id, board_group_id), eq(board_groups.organization_id, organization_id)));
  if (!group) throw notFound();
  return createEntry(ctx, group, input);
}

/** Returns a stream of the entries that are written to a group's memory from now on. */
export async function followGroupMemory(ctx: Context<Member>, group_id: string, is_chat?: boolean): Promise<Source> {
  return groupMemory.follow(await groupFor(ctx, group_id, "read"), is_chat);
}

/**
 * Returns a stream of the memory of the board's current group. Returns null if there is no group. The stream then stays open and
 * sends nothing.
 */
export async function followGroupMemoryOfBoard(ctx: CallerContext, board_id: string, is_chat?: boolean): Promise<Source | null> {
  const { board_group_id: id, organization_id } = await boardFor(ctx, board_id, "read");
  return id === null ? null : groupMemory.follow({ id, organization_id }, is_chat);
}

/**
 * Removes the memory of a group. This must happen before the group is removed, because the trigger that counts texts finds the
 * organization through the group.
 */
export async function removeGroupMemory(ctx: Context, group_id: string): Promise<void> {
  await ctx.db.delete(board_group_memory).where(eq(board_group_memory.board_group_id, group_id));
}

/** Writes an entry. Agents are notified of chat messages and broadcasts, people of every entry that mentions them. */
async function createEntry(
  ctx: CallerContext,
  group: { id: string; organization_id: string; name: string },
  { content, tags, source }: CreateGroupMemoryEntry,
): Promise<GroupMemoryEntry> {
  const is_chat = tags?.includes("chat") ?? false;
  const mentions = parseMentions(content);
  const broadcast = tags?.includes("broadcast") === true || mentions.has("all");
  const entry = {
    board_group_id: group.id,
    content,
    words: toSearchWords(content),
    tags,
    source: source ?? actorName(ctx.actor),
    is_chat,
  };
  if (!is_chat && !broadcast && mentions.size === 0) return groupMemory.create(ctx, entry);
  return groupMemory.create(ctx, entry, (ctx) =>
    is_chat || broadcast ? notifyGroupChat(ctx, group, { content, broadcast }) : notifyGroupNote(ctx, group, content),
  );
}

function toGroupMemoryEntry(row: typeof board_group_memory.$inferSelect): GroupMemoryEntry {
  const { id, board_group_id, content, tags, source, is_chat, created_at } = row;
  return { id, board_group_id, content, tags, source, is_chat, created_at: created_at.toISOString() };
}
