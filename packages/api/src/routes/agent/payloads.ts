import { getPayload, WebhookPayload } from "@board/core/webhook/payload";
import { agent } from "@board/core/context/actor";
import { getWebhook } from "@board/core/webhook/webhook";
import { QueryInteger, lazyObject } from "@board/core/values/wire";
import { endpoint } from "../../endpoint.ts";

const MAX_CHARS = 1_000_000;

const PayloadQuery = lazyObject(() => ({
  max_chars: QueryInteger(1, MAX_CHARS)
    .optional()
    .describe("Maximum number of characters. A longer payload is cut and returned as text."),
}));

export const agentPayloads = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}",
    {
      as: agent,
      summary: "Get a webhook payload",
      description: "Returns the payload as it was posted, or its beginning as text if it is longer than `max_chars`.",
      authorize: (ctx, params) => getWebhook(ctx, params.board_id, params.webhook_id, "read"),
      query: PayloadQuery,
      returns: WebhookPayload,
      agent: "agent_board_webhook_payload_read",
    },
    (ctx, { params, query }) => getPayload(ctx, params.board_id, params.webhook_id, params.payload_id, query.max_chars),
  ),
];
