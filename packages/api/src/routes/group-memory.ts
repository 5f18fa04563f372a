import { boardFor, groupFor } from "@board/core/organization/access";
import { member, userOrAgent } from "@board/core/context/actor";
import {
  GroupMemoryEntry,
  GroupMemoryQuery,
  listGroupMemory,
  listGroupMemoryOfBoard,
  CreateGroupMemoryEntry,
  createGroupMemoryEntry,
  createGroupMemoryEntryOfBoard,
} from "@board/core/memory/group-memory";
import { pageOf } from "@board/core/lists/page";
import { endpoint } from "../endpoint.ts";

/**
 * Memory shared by the boards of a group. People use it through the group. People and agents use it through a board of the group.
 */
export const groupMemory = [
  endpoint(
    "GET",
    "/api/v1/board-groups/{group_id}/memory",
    {
      as: member,
      summary: "List group memory",
      authorize: (ctx, params) => groupFor(ctx, params.group_id, "read"),
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
      description:
        "Chat messages (tag `chat`) are delivered to the leads and to mentioned agents of the group; with the tag `broadcast` or `@all`, to every agent.",
      authorize: (ctx, params) => groupFor(ctx, params.group_id, "write"),
      body: CreateGroupMemoryEntry,
      returns: GroupMemoryEntry,
    },
    (ctx, { params, body }) => createGroupMemoryEntry(ctx, params.group_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/group-memory",
    {
      as: userOrAgent,
      operation_id: "list_memory_of_own_group",
      summary: "List the memory of the board's group",
      description: "Returns the memory that the boards of the group share, newest first. Empty for a board without a group.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: GroupMemoryQuery,
      returns: pageOf(GroupMemoryEntry),
      agent: "agent_board_group_memory_discovery",
    },
    (ctx, { params, query }) => listGroupMemoryOfBoard(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/group-memory",
    {
      as: userOrAgent,
      operation_id: "create_memory_of_own_group",
      summary: "Write to the memory of the board's group",
      description:
        "Chat messages (tag `chat`) are delivered to the leads and to mentioned agents of the group; with the tag `broadcast` or `@all`, to every agent.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateGroupMemoryEntry,
      returns: GroupMemoryEntry,
      agent: "agent_board_group_memory_record",
    },
    (ctx, { params, body }) => createGroupMemoryEntryOfBoard(ctx, params.board_id, body),
  ),
];
