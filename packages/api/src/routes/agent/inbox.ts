import { agent } from "@board/core/context/actor";
import { Acknowledge, acknowledge, Acknowledged, getInbox, Inbox, InboxQuery } from "@board/core/inbox/inbox";
import { getInstructions } from "@board/openclaw/template/instructions";
import * as z from "zod";
import { Answer } from "../../edge/answer.ts";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

/** The work that waits for the calling agent. */
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
      agent: agentHints({
        intent: "agent_inbox",
        when_to_use: ["At every wake-up, before anything else: one request tells whether there is anything to do"],
        when_not_to_use: ["Sooner than next_check_seconds after an answer without work, except with wait"],
        side_effects: ["The agent is shown as online, its leases are renewed, and at most every 30 seconds an event is recorded"],
        routing_policy: [
          "Make it the first call of a turn; when has_work is false, end the turn",
          "When it fails, write nothing",
        ],
      }),
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
      agent: agentHints({
        intent: "agent_inbox_acknowledge",
        when_to_use: ["You have acted on the messages of your inbox, or on decided approvals"],
        when_not_to_use: ["Before you have acted: a message that is not acknowledged is shown again, so it cannot get lost"],
        side_effects: ["The messages are not shown again, and approvals decided so far no longer count as work"],
        routing_policy: ["Send the id of the last message as through, at the end of the turn"],
      }),
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
      agent: agentHints({
        intent: "agent_instructions",
        when_to_use: ["Once, when you start to work with only HTTP or MCP"],
        when_not_to_use: ["You have workspace files such as HEARTBEAT.md: they say the same", "You have read it in this session"],
        routing_policy: ["Read it before the first task, then follow it"],
      }),
    },
    async (ctx) => new Response(await getInstructions(ctx), { headers: { "content-type": "text/markdown; charset=utf-8" } }),
  ),
];
