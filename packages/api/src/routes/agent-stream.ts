import { admin } from "@board/core/context/actor";
import { AgentEvent, AgentStreamQuery, followAgents } from "@board/core/agent/stream";
import { endpoint } from "../endpoint.ts";

export const agentStream = [
  endpoint(
    "GET",
    "/api/v1/agents/stream",
    {
      as: admin,
      summary: "Follow agents",
      errors: [404],
      description:
        "Server-sent events `agent`, one per visible change. Deleting an agent sends no event. Resumes after the event in Last-Event-ID.",
      query: AgentStreamQuery,
      returns: AgentEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { query, http }) =>
      http.stream(query.since, { followAll: (ctx, admins) => followAgents(ctx, admins, query.board_id) }),
  ),
];
