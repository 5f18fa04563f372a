import { boardFor } from "@board/core/organization/access";
import { userOrAgent } from "@board/core/context/actor";
import { listMemory, MemoryEntry, MemoryQuery, CreateMemoryEntry, createMemoryEntry } from "@board/core/memory/memory";
import { pageOf } from "@board/core/lists/page";
import { endpoint } from "../endpoint.ts";

/** Board memory, for people and for the agents of the board. */
export const memory = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/memory",
    {
      as: userOrAgent,
      summary: "List board memory",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: MemoryQuery,
      returns: pageOf(MemoryEntry),
    },
    (ctx, { params, query }) => listMemory(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/memory",
    {
      as: userOrAgent,
      summary: "Write board memory",
      description:
        "Takes either a `key` with a `value`, or `content`. Entries are never changed; the newest entry of a key is its value. Chat messages (tag `chat`) are delivered to the lead of the board and to mentioned agents.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateMemoryEntry,
      returns: MemoryEntry,
    },
    (ctx, { params, body }) => createMemoryEntry(ctx, params.board_id, body),
  ),
];
