import { agent } from "@board/core/context/actor";
import { AgentBoard, getAgentBoard, listAgentBoards } from "@board/core/board/agent-board";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { SearchText } from "@board/core/lists/text-search";
import { lazyObject } from "@board/core/values/wire";
import { endpoint } from "../../endpoint.ts";

/** The boards that the calling agent works on. */
export const agentBoards = [
  endpoint(
    "GET",
    "/api/v1/agent/boards",
    {
      as: agent,
      summary: "List the agent's boards",
      description: "Returns the board of the agent; for a main agent, every board of its gateway. Newest first.",
      query: lazyObject(() => ({ ...pageQuery().shape, q: SearchText })),
      returns: pageOf(AgentBoard),
      agent: "agent_board_discovery",
    },
    (ctx, { query }) => listAgentBoards(ctx, query),
  ),
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}",
    {
      as: agent,
      summary: "Get a board",
      description: "Returns goal, rules and state of a board.",
      returns: AgentBoard,
      agent: "agent_board_lookup",
    },
    (ctx, { params }) => getAgentBoard(ctx, params.board_id),
  ),
];
