import { agent } from "@board/core/actor";
import { listBoardTags } from "@board/core/tag/board-tags";
import { TagLabel } from "@board/core/tag/tag";
import * as z from "zod";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

/** The labels that agents find on tasks and may give to them. */
export const agentTags = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/tags",
    {
      as: agent,
      summary: "List the tags of a board",
      description: "All tags that a task of the board can have, by name.",
      returns: z.array(TagLabel),
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_tag_discovery",
        when_to_use: ["Looking up the ids of tags before they are given to a task"],
        routing_policy: ["Use the tags that there are; new ones are made by people"],
      }),
    },
    (ctx, { params }) => listBoardTags(ctx, params.board_id),
  ),
];
