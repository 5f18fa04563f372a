import { boardFor } from "@board/core/organization/access";
import { admin, member, user, userOrAgent } from "@board/core/context/actor";
import { Board, CreateBoard, createBoard, getBoard, listBoards, UpdateBoard, updateBoard } from "@board/core/board/board";
import { getGroupSnapshotOfBoard, GroupSnapshot, BoardGroupSnapshotQuery } from "@board/core/board/group-snapshot";
import { removeBoard } from "@board/core/board/remove";
import { BoardSnapshot, getBoardSnapshot } from "@board/core/board/snapshot";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { SearchText } from "@board/core/lists/text-search";
import { Id, lazyObject, MAX_INTEGER, Ok, ok, QueryInteger } from "@board/core/values/wire";
import { boardResource } from "./conditional-resources.ts";
import { endpoint } from "../endpoint.ts";

const BoardQuery = lazyObject(() => ({
  ...pageQuery(20).shape,
  page: QueryInteger(1, MAX_INTEGER).default(1).describe("Page number, starting at 1. Ignored if `offset` is given."),
  offset: QueryInteger(0, MAX_INTEGER).optional().describe("Number of items to skip."),
  board_group_id: Id.optional().describe("Only boards of this group."),
  gateway_id: Id.optional().describe("Only boards of this gateway."),
  q: SearchText,
})).meta({ id: "BoardQuery" });

/** Boards for people, and snapshots, which agents may read too. */
export const boards = [
  endpoint(
    "GET",
    "/api/v1/boards",
    { as: member, summary: "List boards", query: BoardQuery, returns: pageOf(Board) },
    (ctx, { query: { page, offset, ...query } }) =>
      listBoards(ctx, { ...query, offset: offset ?? Math.min((page - 1) * query.limit, MAX_INTEGER) }),
  ),
  endpoint(
    "POST",
    "/api/v1/boards",
    { as: admin, summary: "Create a board", errors: [409], body: CreateBoard, returns: Board },
    (ctx, { body }) => createBoard(ctx, body),
  ),
  endpoint("GET", "/api/v1/boards/{board_id}", { as: user, summary: "Get a board", returns: Board }, (ctx, { params }) =>
    getBoard(ctx, params.board_id),
  ),
  endpoint(
    "PATCH",
    "/api/v1/boards/{board_id}",
    {
      as: user,
      summary: "Update a board",
      conditional: boardResource,
      errors: [409],
      description: "Notifies the lead of the changes, and the agents of a group when the board joins or leaves it.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: UpdateBoard,
      returns: Board,
    },
    (ctx, { params, body }) => updateBoard(ctx, params.board_id, body),
  ),
  endpoint(
    "DELETE",
    "/api/v1/boards/{board_id}",
    {
      as: user,
      summary: "Delete a board",
      conditional: boardResource,
      description: "Deletes everything on the board. Its agents are removed from their host in the background.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeBoard(ctx, params.board_id);
      return ok;
    },
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/snapshot",
    { as: userOrAgent, summary: "Get the snapshot of a board", returns: BoardSnapshot },
    (ctx, { params }) => getBoardSnapshot(ctx, params.board_id),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/group-snapshot",
    {
      as: userOrAgent,
      operation_id: "get_snapshot_of_own_group",
      summary: "Get the snapshot of the board's group",
      description:
        "Returns the boards of the group with their task counts and most urgent tasks. People see only the boards that they may read.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: BoardGroupSnapshotQuery,
      returns: GroupSnapshot,
      agent: "agent_board_group_snapshot",
    },
    (ctx, { params, query }) => getGroupSnapshotOfBoard(ctx, params.board_id, query),
  ),
];
