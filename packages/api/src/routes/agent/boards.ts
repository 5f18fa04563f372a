import { agent } from "@board/core/context/actor";
import { AgentBoard, getAgentBoard, listAgentBoards } from "@board/core/board/agent-board";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { SearchText } from "@board/core/lists/text-search";
import { lazyObject } from "@board/core/values/wire";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

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
      agent: agentHints({
        intent: "agent_board_discovery",
        when_to_use: ["Finding the boards to work on, and whether they are paused"],
        routing_policy: ["Read it before any other board operation; do nothing on a paused board"],
      }),
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
      agent: agentHints({
        intent: "agent_board_lookup",
        when_to_use: ["Reading the goal and rules of a board before acting on it"],
        routing_policy: ["The rules of the board take precedence over your habits"],
      }),
    },
    (ctx, { params }) => getAgentBoard(ctx, params.board_id),
  ),
];
