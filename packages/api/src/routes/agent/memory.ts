import { boardFor } from "@board/core/organization/access";
import { agent } from "@board/core/context/actor";
import { listMemory, MemoryEntry, MemoryQuery, CreateMemoryEntry, createMemoryEntry } from "@board/core/memory/memory";
import { pageOf } from "@board/core/lists/page";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

/** Board memory for agents. */
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
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_board_memory_discovery",
        when_to_use: ["Looking up decisions, facts and webhook payloads of the board"],
        routing_policy: ["Search memory before asking people"],
      }),
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
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_board_memory_record",
        when_to_use: ["Recording a decision, a lasting fact or an answer for the board"],
        when_not_to_use: ["Reporting progress of a task: use a task comment"],
        side_effects: ["A new entry that everyone on the board can read"],
        negative_guidance: ["Never write secrets or whole payloads into memory"],
        routing_policy: ["Write short, durable facts; one entry per fact"],
      }),
    },
    (ctx, { params, body }) => createMemoryEntry(ctx, params.board_id, body),
  ),
];
