import { groupFor } from "@board/core/organization/access";
import { admin, adminOrLead, member } from "@board/core/context/actor";
import { GroupHeartbeat, SetGroupHeartbeat, setGroupHeartbeat } from "@board/core/agent/group-heartbeat";
import {
  BoardGroup,
  CreateBoardGroup,
  createBoardGroup,
  getBoardGroup,
  listBoardGroups,
  removeBoardGroup,
  UpdateBoardGroup,
  updateBoardGroup,
} from "@board/core/board/board-group";
import { getGroupSnapshot, GroupSnapshot, GroupSnapshotQuery } from "@board/core/board/group-snapshot";
import { longPageQuery, pageOf } from "@board/core/lists/page";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../endpoint.ts";

/** Groups of related boards. */
export const boardGroups = [
  endpoint(
    "GET",
    "/api/v1/board-groups",
    { as: member, summary: "List board groups", query: longPageQuery(), returns: pageOf(BoardGroup) },
    (ctx, { query }) => listBoardGroups(ctx, query),
  ),
  endpoint(
    "POST",
    "/api/v1/board-groups",
    { as: admin, summary: "Create a board group", errors: [409], body: CreateBoardGroup, returns: BoardGroup },
    (ctx, { body }) => createBoardGroup(ctx, body),
  ),
  endpoint(
    "GET",
    "/api/v1/board-groups/{group_id}",
    { as: member, summary: "Get a board group", returns: BoardGroup },
    (ctx, { params }) => getBoardGroup(ctx, params.group_id),
  ),
  endpoint(
    "PATCH",
    "/api/v1/board-groups/{group_id}",
    {
      as: admin,
      summary: "Update a board group",
      errors: [409],
      description: "Renaming keeps the slug. A blank slug is derived from the name.",
      authorize: (ctx, params) => groupFor(ctx, params.group_id, "write"),
      body: UpdateBoardGroup,
      returns: BoardGroup,
    },
    (ctx, { params, body }) => updateBoardGroup(ctx, params.group_id, body),
  ),
  endpoint(
    "DELETE",
    "/api/v1/board-groups/{group_id}",
    {
      as: admin,
      summary: "Delete a board group",
      description: "Its boards are kept without a group; its memory is deleted.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeBoardGroup(ctx, params.group_id);
      return ok;
    },
  ),
  endpoint(
    "GET",
    "/api/v1/board-groups/{group_id}/snapshot",
    {
      as: member,
      summary: "Get the snapshot of a board group",
      description: "Returns the boards of the group that the caller may read, with their task counts and most urgent tasks.",
      authorize: (ctx, params) => groupFor(ctx, params.group_id, "read"),
      query: GroupSnapshotQuery,
      returns: GroupSnapshot,
    },
    (ctx, { params, query }) => getGroupSnapshot(ctx, params.group_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/board-groups/{group_id}/heartbeat",
    {
      as: adminOrLead,
      summary: "Set the heartbeat of a board group's agents",
      description: "Stored immediately. Each host is updated in the background, with one change of its configuration.",
      authorize: (ctx, params) => groupFor(ctx, params.group_id, "write"),
      body: SetGroupHeartbeat,
      returns: GroupHeartbeat,
    },
    (ctx, { params, body }) => setGroupHeartbeat(ctx, params.group_id, body),
  ),
];
