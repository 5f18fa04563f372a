import { boardFor, groupFor } from "@board/core/organization/access";
import { member, userOrAgent } from "@board/core/context/actor";
import { followGroupMemory, followGroupMemoryOfBoard, GroupMemoryEvent } from "@board/core/memory/group-memory";
import { followMemory, MemoryEvent, MemoryStreamQuery } from "@board/core/memory/memory";
import { endpoint } from "../endpoint.ts";

/** Streams of the memory of a board and of its group. */
export const memoryStreams = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/memory/stream",
    {
      as: userOrAgent,
      summary: "Follow board memory",
      description: "Server-sent events `memory`, one per new entry. Resumes after the event in Last-Event-ID.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: MemoryStreamQuery,
      returns: MemoryEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followMemory(ctx, params.board_id, query.is_chat)),
  ),

  endpoint(
    "GET",
    "/api/v1/board-groups/{group_id}/memory/stream",
    {
      as: member,
      summary: "Follow group memory",
      description: "Server-sent events `memory`, one per new entry. Resumes after the event in Last-Event-ID.",
      authorize: (ctx, params) => groupFor(ctx, params.group_id, "read"),
      query: MemoryStreamQuery,
      returns: GroupMemoryEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followGroupMemory(ctx, params.group_id, query.is_chat)),
  ),

  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/group-memory/stream",
    {
      as: userOrAgent,
      operation_id: "stream_memory_of_own_group",
      summary: "Follow the memory of the board's group",
      description: "Server-sent events `memory`, one per new entry. No events are sent while the board has no group.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: MemoryStreamQuery,
      returns: GroupMemoryEvent,
      media_type: "text/event-stream",
      agent: "agent_board_group_memory_stream",
    },
    (_ctx, { params, query, http }) =>
      http.stream(query.since, (ctx) => followGroupMemoryOfBoard(ctx, params.board_id, query.is_chat)),
  ),
];
