import { boardFor } from "@board/core/access";
import { admin, member, user, userOrAgent } from "@board/core/actor";
import { Board, CreateBoard, createBoard, getBoard, listBoards, UpdateBoard, updateBoard } from "@board/core/board/board";
import { getNeighbourSnapshot, GroupSnapshot, NeighbourSnapshotQuery } from "@board/core/board/group-snapshot";
import { removeBoard } from "@board/core/board/remove";
import { BoardSnapshot, getBoardSnapshot } from "@board/core/board/snapshot";
import { pageOf, pageQuery } from "@board/core/page";
import { Id, MAX_INTEGER, Ok, ok, QueryInteger } from "@board/core/wire";
import { endpoint } from "../endpoint.ts";
import { hints } from "./agent/hints.ts";

const BoardQuery = pageQuery(20)
  .extend({
    page: QueryInteger(1, MAX_INTEGER).default(1).describe("Page number, from 1; `offset` wins over it."),
    offset: QueryInteger(0, MAX_INTEGER).optional().describe("How many items to skip."),
    board_group_id: Id.optional().describe("Only boards of this group."),
    gateway_id: Id.optional().describe("Only boards of this gateway."),
  })
  .meta({ id: "BoardQuery" });

/** Boards as people see them, and their overviews, which agents read too. */
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
      summary: "Change a board",
      errors: [409],
      description: "The lead is told what changed, the agents of a group when the board joins or leaves it.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
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
      description: "Everything on it goes with it. Its agents are removed from their host in the background.",
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
    { as: userOrAgent, summary: "Get a board's overview", returns: BoardSnapshot },
    (ctx, { params }) => getBoardSnapshot(ctx, params.board_id),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/group-snapshot",
    {
      as: userOrAgent,
      operation_id: "get_snapshot_of_own_group",
      summary: "See what the board's group works on",
      description: "The boards of the group with their task counts and most pressing tasks; people see those they may read.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: NeighbourSnapshotQuery,
      returns: GroupSnapshot,
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_group_snapshot",
        when_to_use: ["Looking for related, overlapping or blocking work on the other boards of the group"],
        when_not_to_use: ["The board's own tasks are meant: list the tasks of the board"],
        routing_policy: ["Read it before starting work that other boards of the group may depend on"],
      }),
    },
    (ctx, { params, query }) => getNeighbourSnapshot(ctx, params.board_id, query),
  ),
];
