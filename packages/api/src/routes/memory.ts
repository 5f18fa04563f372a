import { boardFor } from "@board/core/access";
import { userOrAgent } from "@board/core/actor";
import { listMemory, MemoryEntry, MemoryQuery, WriteMemory, writeMemory } from "@board/core/memory/memory";
import { pageOf } from "@board/core/page";
import { endpoint } from "../endpoint.ts";

/** What a board remembers, for people and for the board's agents. */
export const memory = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/memory",
    {
      as: userOrAgent,
      summary: "List board memory",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
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
      description: "Either a `key` with a `value`, or `content`. Entries are never changed; the newest of a key is its value.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: WriteMemory,
      returns: MemoryEntry,
    },
    (ctx, { params, body }) => writeMemory(ctx, params.board_id, body),
  ),
];
