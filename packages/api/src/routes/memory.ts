import { boardFor } from "@board/core/access";
import { userOrAgent } from "@board/core/actor";
import {
  followMemory,
  listMemory,
  MemoryEntry,
  MemoryEvent,
  MemoryQuery,
  MemoryStreamQuery,
  WriteMemory,
  writeMemory,
} from "@board/core/memory/memory";
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
      description:
        "Either a `key` with a `value`, or `content`. Entries are never changed; the newest of a key is its value. Chat (tag `chat`) reaches the board's lead and the agents it mentions.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: WriteMemory,
      returns: MemoryEntry,
    },
    (ctx, { params, body }) => writeMemory(ctx, params.board_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/memory/stream",
    {
      as: userOrAgent,
      summary: "Follow board memory",
      description: "Server-sent events `memory`, one per new entry. Resumes after the event named by Last-Event-ID.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: MemoryStreamQuery,
      returns: MemoryEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followMemory(ctx, params.board_id, query.is_chat)),
  ),
];
