import { userOrAgent } from "@board/core/context/actor";
import { authorOf, authorText } from "@board/core/context/author";
import {
  type AuthoredEntry,
  CreateMemoryEntry,
  createMemoryEntry,
  listAuthoredMemory,
  MemoryEntry,
  MemoryQuery,
} from "@board/core/memory/memory";
import { Id, MAX_NAME } from "@board/core/values/wire";
import * as z from "zod";
import { AuthorView } from "../author-view.ts";
import { fenced, labelled } from "../fenced.ts";
import { beginningOf, beginningOfMessage, cut, cutMessage, firstRows, MAX_ROWS } from "../limits.ts";
import { boardIdOf, parseInput, tool, toQuery } from "../tool.ts";

const board_id = Id.optional();
const { id, key, tags, source, is_chat, created_at } = MemoryEntry.shape;
const Entry = z.object({ id, author: AuthorView, key, content: z.string(), tags, source, is_chat, created_at });

const way = ({ board_id }: MemoryEntry) => `GET /api/v1/boards/${board_id}/memory`;

/** Returns whether the service wrote the entry. Such an entry contains a webhook payload in a separate fence. */
const isOfService = ({ author }: AuthoredEntry) => author?.type === "system";

function toEntry(entry: AuthoredEntry): z.infer<typeof Entry> {
  const { id, author, key, tags, source, is_chat, created_at } = entry;
  const content = (isOfService(entry) ? cutMessage : cut)(entry.content, way(entry));
  return { id, author, key, content, tags: tags && firstRows(tags), source, is_chat, created_at };
}

function entryText(entry: AuthoredEntry): string[] {
  const { id, author, is_chat, created_at, key, source, tags } = entry;
  const about = `Entry ${id} by ${authorText(author)}, ${created_at}${is_chat ? ", in the chat" : ""}`;
  const { shown, rest } = (isOfService(entry) ? beginningOfMessage : beginningOf)(entry.content, way(entry));
  const short = labelled({
    ...(key === null ? {} : { Key: key }),
    ...(source === null ? {} : { Source: source }),
    ...(tags === null || tags.length === 0 ? {} : { Tags: firstRows(tags).join(", ") }),
  });
  return fenced(about, { shown: short === "" ? shown : `${short}\n\n${shown}`, rest });
}

export const remember = tool({
  title: "Remember",
  name: "remember",
  description:
    "Stores a lasting fact or decision for the board, or writes to its chat with the tag chat. No progress reports or secrets.",
  as: userOrAgent,
  for_runs: true,
  input: z.object({
    board_id,
    content: CreateMemoryEntry.shape.content,
    key: CreateMemoryEntry.shape.key,
    tags: CreateMemoryEntry.shape.tags,
  }),
  output: z.object({ entry: Entry }),
  async run(ctx, { board_id, ...input }) {
    const stored = await createMemoryEntry(
      ctx,
      boardIdOf(ctx, { board_id }),
      parseInput(CreateMemoryEntry, { source: null, ...input }),
    );
    return { data: { entry: toEntry({ ...stored, author: authorOf(ctx.actor) }) }, text: `Stored as ${stored.id}.` };
  },
});

export const recall = tool({
  title: "Search the memory",
  name: "recall",
  description: "Searches the memory and chat of the board, newest first. Use it before asking a person.",
  as: userOrAgent,
  read_only: true,
  input: z.object({
    board_id,
    q: z.string().max(MAX_NAME).optional(),
    key: z.string().optional(),
    tags: z.array(z.string().max(MAX_NAME)).max(MAX_ROWS).optional(),
    is_chat: z.boolean().optional(),
    limit: z.int().optional(),
    offset: z.int().optional(),
  }),
  about: { q: "Words" },
  output: z.object({ entries: z.array(Entry), total: z.int() }),
  async run(ctx, { board_id, q, tags, ...query }) {
    const filter = { ...toQuery(MemoryQuery, { limit: MAX_ROWS, ...query, q: q || undefined }), tags };
    const { items, total } = await listAuthoredMemory(ctx, boardIdOf(ctx, { board_id }), filter);
    const text = [`${total} entries, ${items.length} shown, newest first.`, ...items.flatMap(entryText)].join("\n");
    return { data: { entries: items.map(toEntry), total }, text };
  },
});
