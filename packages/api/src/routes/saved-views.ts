import { user } from "@board/core/context/actor";
import { getSavedViews, SavedViews, SetSavedViews, setSavedViews } from "@board/core/saved-view/saved-view";
import { endpoint } from "../endpoint.ts";

const PATH = "/api/v1/boards/{board_id}/saved-views";

/** The filters with which a person looks at a board. */
export const savedViews = [
  endpoint(
    "GET",
    PATH,
    { as: user, operation_id: "get_board_saved_views", summary: "Get your views of a board", returns: SavedViews },
    (ctx, { params }) => getSavedViews(ctx, params.board_id),
  ),
  endpoint(
    "PUT",
    PATH,
    {
      as: user,
      operation_id: "replace_board_saved_views",
      summary: "Set your views of a board",
      authorize: (ctx, params) => getSavedViews(ctx, params.board_id),
      body: SetSavedViews,
      returns: SavedViews,
    },
    (ctx, { params, body }) => setSavedViews(ctx, params.board_id, body),
  ),
];
