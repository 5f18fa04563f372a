import { boardFor } from "@board/core/organization/access";
import { agent } from "@board/core/context/actor";
import { arrayQuery } from "@board/core/lists/page";
import { listBoardTags } from "@board/core/tag/board-tags";
import { TagLabel } from "@board/core/tag/tag";
import * as z from "zod";
import { ARRAY_DESCRIPTION } from "../../edge/answer.ts";
import { endpoint } from "../../endpoint.ts";

/** Tags that agents may add to tasks. */
export const agentTags = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/tags",
    {
      as: agent,
      summary: "List the tags of a board",
      description: `Returns all tags that a task of the board can have, sorted by name. ${ARRAY_DESCRIPTION}`,
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: arrayQuery,
      returns: z.array(TagLabel),
      agent: "agent_board_tag_discovery",
    },
    (ctx, { params, query }) => listBoardTags(ctx, params.board_id, query),
  ),
];
