import { and, eq, getTableColumns, type SQL } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import * as z from "zod";
import { type Context, transaction } from "../context/context.ts";
import { newestFirst } from "../lists/keyset.ts";
import { actingActor } from "../db/change-actor.ts";
import type { LargeFields } from "../lists/large-fields.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { toCursor } from "../stream/cursor.ts";
import { type Source, windowCondition, windowOrder } from "../stream/source.ts";
import { MAX_NAME, QueryBoolean } from "../values/wire.ts";
import type { board_group_memory } from "../schema/group-memory.sql.ts";
import type { board_memory } from "../schema/memory.sql.ts";
import { listOf } from "../lists/list.ts";
import { type Filter, filterBy } from "../lists/filter.ts";

const MAX_TAGS = 50;

/** The labels of an entry in a request. */
export const MemoryTags = z
  .array(z.string().max(MAX_NAME))
  .max(MAX_TAGS)
  .nullable()
  .default(null)
  .describe("Labels; `chat` makes it a chat message.");

/** Filters lists and streams by the kind of entry. */
export const ChatFilter = QueryBoolean.optional().describe("Only chat messages, or only notes.");

interface MemoryLogQuery extends PageQuery {
  is_chat?: boolean | undefined;
  /** Words to look for in the entries. */
  q?: string | undefined;
}

interface MemoryLogOptions<Table extends typeof board_memory | typeof board_group_memory, Entry extends object> {
  table: Table;
  /** The column with the id of the board or group. */
  owner: PgColumn;
  /** The name of the log. The keys of its streams begin with it. */
  key: string;
  /** The search words of an entry. */
  words: SQL;
  /** The fields that a list shortens when the answer would be too large. */
  large: LargeFields;
  toEntry: (row: Table["$inferSelect"]) => Entry;
}

/**
 * Creates the functions for the append-only memory of boards or of board groups. Both have the same lists, streams and ways to add
 * entries.
 */
export function createMemoryLog<Table extends typeof board_memory | typeof board_group_memory, Entry extends object>({
  table,
  owner,
  key,
  words,
  large,
  toEntry,
}: MemoryLogOptions<Table, Entry>) {
  // Drizzle cannot infer the rows of a generic table, so the queries are typed as if for one of the two tables.
  const shared = table as unknown as typeof board_group_memory;
  const fromRow = (row: unknown) => toEntry(row as Table["$inferSelect"]);
  // The search words are not part of an entry.
  const { words: _, ...columns } = getTableColumns(shared);
  const list = listOf({ name: key, table: shared, columns, large, order: newestFirst(shared), words });
  const order = { tx: shared.tx, seq: shared.seq, at: shared.created_at };
  const ofKind = (is_chat?: boolean) => (is_chat === undefined ? undefined : eq(shared.is_chat, is_chat));

  return {
    /** Lists the entries of a board or group, newest first. */
    list<Item extends object>(
      ctx: Context,
      owner_id: string,
      query: MemoryLogQuery,
      { filters = [], toEntry }: { filters?: (Filter | null)[]; toEntry: (row: Table["$inferSelect"]) => Item },
    ): Promise<Page<Item>> {
      return list.read(ctx, query, {
        owner: owner_id,
        filters: [
          filterBy("owner", owner_id, (id) => eq(owner, id)),
          filterBy("is_chat", query.is_chat, (is_chat) => eq(shared.is_chat, is_chat)),
          ...filters,
        ],
        toItem: (row) => toEntry(row as Table["$inferSelect"]),
      });
    },

    /** Returns a stream of the entries that are written from now on. */
    follow({ id, organization_id }: { id: string; organization_id: string }, is_chat?: boolean): Source {
      return {
        key: `${key} ${id} ${is_chat}`,
        organization_id,
        event: "memory",
        async read(ctx, window) {
          const rows = await ctx.db
            .select(columns)
            .from(shared)
            .where(and(and(eq(owner, id), ofKind(is_chat)), windowCondition(window, order)))
            .orderBy(...windowOrder(window, order))
            .limit(window.limit);
          return rows.map((row) => ({ id: row.id, cursor: toCursor(row.tx, row.seq), data: { memory: fromRow(row) } }));
        },
      };
    },

    /** Writes an entry. `notify` runs in the same transaction, so that the entry and its notifications are stored together. */
    async create<C extends Context>(ctx: C, entry: Table["$inferInsert"], notify?: (ctx: C) => Promise<void>): Promise<Entry> {
      const insert = async (ctx: Context) => {
        const [row] = await ctx.db
          .insert(shared)
          .values(entry as typeof board_group_memory.$inferInsert)
          .returning({ ...columns, acting: actingActor(ctx) });
        return fromRow(row);
      };
      if (!notify) return insert(ctx);
      return transaction(ctx, async (ctx) => {
        const created = await insert(ctx);
        await notify(ctx);
        return created;
      });
    },
  };
}
