import { agent } from "@board/core/context/actor";
import { Acknowledge, acknowledge, Acknowledged, getInbox, Inbox, InboxQuery } from "@board/core/inbox/inbox";
import { getInstructions } from "@board/openclaw/template/instructions";
import * as z from "zod";
import { Answer } from "../../edge/answer.ts";
import { endpoint } from "../../endpoint.ts";

/** The work that is waiting for the calling agent. */
export const agentInbox = [
  endpoint(
    "GET",
    "/api/v1/agent/inbox",
    {
      as: agent,
      summary: "Read the inbox",
      description:
        "Returns everything that waits for the caller in one request, which also counts as a heartbeat. With the `ETag` of the last answer in `If-None-Match`, an unchanged inbox is answered with 304 and no body. With `wait`, the answer comes as soon as there is work. Messages are shown until they are acknowledged, and kept for 30 days.",
      query: InboxQuery,
      returns: Inbox,
      agent: "agent_inbox",
    },
    async (ctx, { query, http }) => {
      const { inbox, tag } = await getInbox(ctx, query, http.shutdown_signal);
      return new Answer(inbox, 200, { ETag: `"${tag}"` });
    },
  ),
  endpoint(
    "POST",
    "/api/v1/agent/inbox/ack",
    {
      as: agent,
      summary: "Acknowledge messages",
      description: "Marks messages of the inbox as read, so that they are not shown again. It may be repeated.",
      body: Acknowledge,
      returns: Acknowledged,
      agent: "agent_inbox_acknowledge",
    },
    (ctx, { body }) => acknowledge(ctx, body),
  ),
];

/** The working rules for an agent without workspace files. */
export const agentInstructions = [
  endpoint(
    "GET",
    "/api/v1/agent/instructions",
    {
      as: agent,
      summary: "Read the instructions",
      description:
        "Returns how the caller works with its board, as Markdown of at most 1,200 tokens, for an agent without workspace files.",
      returns: z.string().meta({ id: "AgentInstructions", description: "Instructions in Markdown." }),
      media_type: "text/markdown",
      agent: "agent_instructions",
    },
    async (ctx) => new Response(await getInstructions(ctx), { headers: { "content-type": "text/markdown; charset=utf-8" } }),
  ),
];
