import { and, desc, eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor, groupFor } from "../access.ts";
import type { Agent, Member, User } from "../actor.ts";
import { mentionsOf } from "../agent/mention.ts";
import { board_groups } from "../board/board.sql.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError, notFound } from "../errors.ts";
import { type Page, type PageQuery, pageQuery, readPage } from "../page.ts";
import { cursorOf } from "../stream/cursor.ts";
import { inOrder, type Source, within } from "../stream/source.ts";
import { Blankable, Id, Instant, MAX_NAME, MAX_TEXT, NonEmpty, QueryBoolean } from "../wire.ts";
import { announceInGroup, nameOf } from "./chat.ts";
import { board_group_memory } from "./group-memory.sql.ts";
import { Tags } from "./memory.ts";

export const GroupMemoryEntry = z
  .object({
    id: Id.describe("Id of the entry."),
    board_group_id: Id.describe("Group that remembers."),
    content: z.string().describe("The entry as text."),
    tags: z.array(z.string()).nullable().describe("Labels; `chat` makes it a chat message, `broadcast` reaches every agent."),
    source: z.string().nullable().describe("Where it comes from."),
    is_chat: z.boolean().describe("A chat message; otherwise a durable note."),
    created_at: Instant.describe("When it was written."),
  })
  .meta({ id: "BoardGroupMemoryEntry", description: "Something the boards of a group remember together." });
export type GroupMemoryEntry = z.infer<typeof GroupMemoryEntry>;

export const WriteGroupMemory = z
  .object({
    content: NonEmpty(MAX_TEXT).describe("Text of the entry; `@all` reaches every agent of the group."),
    tags: Tags.describe("Labels; `chat` makes it a chat message, `broadcast` reaches every agent."),
    source: Blankable(MAX_NAME).default(null).describe("Where it comes from; the author's name when agents are told."),
  })
  .meta({ id: "BoardGroupMemoryWrite" });
export type WriteGroupMemory = z.infer<typeof WriteGroupMemory>;

export const GroupMemoryQuery = pageQuery().extend({
  is_chat: QueryBoolean.optional().describe("Only chat messages, or only notes."),
});
export interface GroupMemoryQuery extends PageQuery {
  is_chat?: boolean | undefined;
}

export const GroupMemoryEvent = z
  .object({ memory: GroupMemoryEntry.describe("The new entry.") })
  .meta({ id: "BoardGroupMemoryEvent", description: "The data of a `memory` event." });

type OnBoard = Context<User | Agent>;

/** What the boards of a group remember, newest first. */
export async function listGroupMemory(
  ctx: Context<Member>,
  group_id: string,
  query: GroupMemoryQuery,
): Promise<Page<GroupMemoryEntry>> {
  return list(ctx, (await groupFor(ctx, group_id, "read")).id, query);
}

/** The same for the group of a board; without a group there is nothing. */
export async function listMemoryOfBoardsGroup(
  ctx: OnBoard,
  board_id: string,
  query: GroupMemoryQuery,
): Promise<Page<GroupMemoryEntry>> {
  const { limit, offset } = query;
  const { board_group_id } = await boardFor(ctx, board_id, "read");
  return board_group_id === null ? { items: [], total: 0, limit, offset } : list(ctx, board_group_id, query);
}

export async function writeGroupMemory(
  ctx: Context<Member>,
  group_id: string,
  input: WriteGroupMemory,
): Promise<GroupMemoryEntry> {
  return write(ctx, await groupFor(ctx, group_id, "write"), input);
}

export async function writeMemoryOfBoardsGroup(
  ctx: OnBoard,
  board_id: string,
  input: WriteGroupMemory,
): Promise<GroupMemoryEntry> {
  const { board_group_id, organization_id } = await boardFor(ctx, board_id, "write");
  if (board_group_id === null) throw new DomainError("invalid", "Board is not in a board group");
  const [group] = await ctx.db
    .select()
    .from(board_groups)
    .where(and(eq(board_groups.id, board_group_id), eq(board_groups.organization_id, organization_id)));
  if (!group) throw notFound();
  return write(ctx, group, input);
}

/** What is written into a group's memory from now on. */
export async function followGroupMemory(ctx: Context<Member>, group_id: string, is_chat?: boolean): Promise<Source> {
  return sourceOf((await groupFor(ctx, group_id, "read")).id, is_chat);
}

/** The same for the group of a board, whichever that is at the moment. */
export async function followMemoryOfBoardsGroup(ctx: OnBoard, board_id: string, is_chat?: boolean): Promise<Source | null> {
  const { board_group_id } = await boardFor(ctx, board_id, "read");
  return board_group_id === null ? null : sourceOf(board_group_id, is_chat);
}

function list(ctx: Context, group_id: string, query: GroupMemoryQuery): Promise<Page<GroupMemoryEntry>> {
  const where = and(
    eq(board_group_memory.board_group_id, group_id),
    query.is_chat === undefined ? undefined : eq(board_group_memory.is_chat, query.is_chat),
  );
  const total = ctx.db.$count(board_group_memory, where);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: board_group_memory, total })
        .from(board_group_memory)
        .where(where)
        .orderBy(desc(board_group_memory.created_at), desc(board_group_memory.id))
        .limit(limit)
        .offset(offset),
    toEntry,
  );
}

/** Agents are told of chat and of broadcasts, in the transaction of the entry. */
async function write(ctx: OnBoard, group: { id: string; name: string }, input: WriteGroupMemory): Promise<GroupMemoryEntry> {
  const { content, tags } = input;
  const is_chat = tags?.includes("chat") ?? false;
  const broadcast = tags?.includes("broadcast") === true || mentionsOf(content).has("all");
  const told = is_chat || broadcast;
  const source = input.source ?? (told ? nameOf(ctx.actor) : null);
  const entry = { board_group_id: group.id, content, tags, source, is_chat };
  if (!told) return remember(ctx, entry);
  return transaction(ctx, async (ctx) => {
    const said = await remember(ctx, entry);
    await announceInGroup(ctx, group, { content, broadcast });
    return said;
  });
}

async function remember(ctx: Context, entry: typeof board_group_memory.$inferInsert): Promise<GroupMemoryEntry> {
  const [row] = await ctx.db.insert(board_group_memory).values(entry).returning();
  return toEntry(row!);
}

const order = { tx: board_group_memory.tx, seq: board_group_memory.seq, at: board_group_memory.created_at };

function sourceOf(group_id: string, is_chat?: boolean): Source {
  const wanted = and(
    eq(board_group_memory.board_group_id, group_id),
    is_chat === undefined ? undefined : eq(board_group_memory.is_chat, is_chat),
  );
  return {
    key: `group-memory ${group_id} ${is_chat}`,
    event: "memory",
    async read(ctx, window) {
      const rows = await ctx.db
        .select()
        .from(board_group_memory)
        .where(and(wanted, within(window, order)))
        .orderBy(...inOrder(window, order))
        .limit(window.limit);
      return rows.map((row) => ({ id: row.id, cursor: cursorOf(row.tx, row.seq), data: { memory: toEntry(row) } }));
    },
  };
}

function toEntry(row: typeof board_group_memory.$inferSelect): GroupMemoryEntry {
  const { id, board_group_id, content, tags, source, is_chat, created_at } = row;
  return { id, board_group_id, content, tags, source, is_chat, created_at: created_at.toISOString() };
}
