import { boardFor, groupFor } from "@board/core/access";
import { member, userOrAgent } from "@board/core/actor";
import {
  followGroupMemory,
  followMemoryOfBoardsGroup,
  GroupMemoryEntry,
  GroupMemoryEvent,
  GroupMemoryQuery,
  listGroupMemory,
  listMemoryOfBoardsGroup,
  WriteGroupMemory,
  writeGroupMemory,
  writeMemoryOfBoardsGroup,
} from "@board/core/memory/group-memory";
import { MemoryStreamQuery } from "@board/core/memory/memory";
import { pageOf } from "@board/core/page";
import { endpoint } from "../endpoint.ts";
import { hints } from "./agent/hints.ts";

/** What the boards of a group remember together: for people by the group, for people and agents by one of its boards. */
export const groupMemory = [
  endpoint(
    "GET",
    "/api/v1/board-groups/{group_id}/memory",
    {
      as: member,
      summary: "List group memory",
      reaches: (ctx, params) => groupFor(ctx, params.group_id, "read"),
      query: GroupMemoryQuery,
      returns: pageOf(GroupMemoryEntry),
    },
    (ctx, { params, query }) => listGroupMemory(ctx, params.group_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/board-groups/{group_id}/memory",
    {
      as: member,
      summary: "Write group memory",
      description: "Chat (tag `chat`) reaches leads and mentioned agents of the group; tag `broadcast` or `@all` every agent.",
      reaches: (ctx, params) => groupFor(ctx, params.group_id, "write"),
      body: WriteGroupMemory,
      returns: GroupMemoryEntry,
    },
    (ctx, { params, body }) => writeGroupMemory(ctx, params.group_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/board-groups/{group_id}/memory/stream",
    {
      as: member,
      summary: "Follow group memory",
      description: "Server-sent events `memory`, one per new entry. Resumes after the event named by Last-Event-ID.",
      reaches: (ctx, params) => groupFor(ctx, params.group_id, "read"),
      query: MemoryStreamQuery,
      returns: GroupMemoryEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followGroupMemory(ctx, params.group_id, query.is_chat)),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/group-memory",
    {
      as: userOrAgent,
      operation_id: "list_memory_of_own_group",
      summary: "List the memory of the board's group",
      description: "What the boards of the group remember together, newest first; empty for a board without a group.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: GroupMemoryQuery,
      returns: pageOf(GroupMemoryEntry),
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_group_memory_discovery",
        when_to_use: ["Looking up what the other boards of the group decided or announced"],
        routing_policy: ["Search board memory first; group memory holds what concerns several boards"],
      }),
    },
    (ctx, { params, query }) => listMemoryOfBoardsGroup(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/group-memory",
    {
      as: userOrAgent,
      operation_id: "create_memory_of_own_group",
      summary: "Write to the memory of the board's group",
      description: "Chat (tag `chat`) reaches leads and mentioned agents of the group; tag `broadcast` or `@all` every agent.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: WriteGroupMemory,
      returns: GroupMemoryEntry,
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_group_memory_record",
        when_to_use: ["Telling the other boards of the group what concerns them, or asking them"],
        when_not_to_use: ["It concerns this board alone: that is board memory"],
        side_effects: ["A new entry that every board of the group can read", "Chat and broadcasts are sent to agents"],
        negative_guidance: ["Never broadcast what one mention would settle"],
        routing_policy: ["Mention whom it concerns; broadcast only what everybody has to know"],
      }),
    },
    (ctx, { params, body }) => writeMemoryOfBoardsGroup(ctx, params.board_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/group-memory/stream",
    {
      as: userOrAgent,
      operation_id: "stream_memory_of_own_group",
      summary: "Follow the memory of the board's group",
      description: "Server-sent events `memory`, one per new entry; silent while the board has no group.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: MemoryStreamQuery,
      returns: GroupMemoryEvent,
      media_type: "text/event-stream",
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_group_memory_stream",
        when_to_use: ["Waiting for an answer from another board of the group"],
        when_not_to_use: ["A look at what is there is enough: list it instead"],
        negative_guidance: ["Do not keep a stream open beyond the turn"],
        routing_policy: ["Resume with Last-Event-ID instead of listing again"],
      }),
    },
    (_ctx, { params, query, http }) =>
      http.stream(query.since, (ctx) => followMemoryOfBoardsGroup(ctx, params.board_id, query.is_chat)),
  ),
];
