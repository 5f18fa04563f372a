import { boardFor } from "@board/core/access";
import { admin, member, user } from "@board/core/actor";
import { Board, CreateBoard, createBoard, getBoard, listBoards, UpdateBoard, updateBoard } from "@board/core/board/board";
import { pageOf, pageQuery } from "@board/core/page";
import { Id, MAX_INTEGER, QueryInteger } from "@board/core/wire";
import { endpoint } from "../endpoint.ts";

const BoardQuery = pageQuery(20)
  .extend({
    page: QueryInteger(1, MAX_INTEGER).default(1).describe("Page number, from 1; `offset` wins over it."),
    offset: QueryInteger(0, MAX_INTEGER).optional().describe("How many items to skip."),
    board_group_id: Id.optional().describe("Only boards of this group."),
    gateway_id: Id.optional().describe("Only boards of this gateway."),
  })
  .meta({ id: "BoardQuery" });

/** Boards as people see them. */
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
    { as: admin, summary: "Create a board", body: CreateBoard, returns: Board },
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
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: UpdateBoard,
      returns: Board,
    },
    (ctx, { params, body }) => updateBoard(ctx, params.board_id, body),
  ),
];
