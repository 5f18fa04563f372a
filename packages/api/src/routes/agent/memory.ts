import { boardFor } from "@board/core/access";
import { agent } from "@board/core/actor";
import { listMemory, MemoryEntry, MemoryQuery, WriteMemory, writeMemory } from "@board/core/memory/memory";
import { pageOf } from "@board/core/page";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

/** Board memory as agents use it. */
export const agentMemory = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/memory",
    {
      as: agent,
      summary: "List board memory",
      description: "Notes (`is_chat=false`) or chat (`is_chat=true`) of a board, newest first.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: MemoryQuery,
      returns: pageOf(MemoryEntry),
      agent: hints({
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
      description: "A `key` with a `value` to keep, or `content`; the tag `chat` makes it a chat message.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: WriteMemory,
      returns: MemoryEntry,
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_memory_record",
        when_to_use: ["Recording a decision, a lasting fact or an answer for the board"],
        when_not_to_use: ["Progress of a task: that is a task comment"],
        side_effects: ["A new entry that everybody on the board can read"],
        negative_guidance: ["Never write secrets or whole payloads into memory"],
        routing_policy: ["Short, durable facts; one entry per fact"],
      }),
    },
    (ctx, { params, body }) => writeMemory(ctx, params.board_id, body),
  ),
];
