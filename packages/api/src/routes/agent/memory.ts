import { boardFor } from "@board/core/organization/access";
import { agent } from "@board/core/context/actor";
import { listMemory, MemoryEntry, MemoryQuery, CreateMemoryEntry, createMemoryEntry } from "@board/core/memory/memory";
import { pageOf } from "@board/core/lists/page";
import { endpoint } from "../../endpoint.ts";

export const agentMemory = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/memory",
    {
      as: agent,
      summary: "List board memory",
      description: "Returns notes (`is_chat=false`) or chat messages (`is_chat=true`) of a board, newest first.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: MemoryQuery,
      returns: pageOf(MemoryEntry),
      agent: "agent_board_memory_discovery",
    },
    (ctx, { params, query }) => listMemory(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/memory",
    {
      as: agent,
      summary: "Write board memory",
      description: "Takes either a `key` with a `value`, or `content`. The tag `chat` makes the entry a chat message.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateMemoryEntry,
      returns: MemoryEntry,
      agent: "agent_board_memory_record",
    },
    (ctx, { params, body }) => createMemoryEntry(ctx, params.board_id, body),
  ),
];
