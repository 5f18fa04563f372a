import { anyone } from "@board/core/actor";
import { WebhookAccepted, ingestWebhook as ingestPost } from "@board/core/webhook/ingest";
import { endpoint } from "../endpoint.ts";

/** Webhook ingestion: public, without a credential, with any body. */
export const ingest = [
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/webhooks/{webhook_id}",
    {
      as: anyone,
      operation_id: "post_board_webhook_payload",
      summary: "Post a payload",
      description:
        "Accepts JSON, text or form data. The payload is stored and added to the board memory; the agent of the webhook is notified in the background. A webhook with a secret requires an HMAC-SHA256 signature of the body.",
      lenient_params: true,
      returns: WebhookAccepted,
      status: 202,
    },
    (ctx, { params, http }) => ingestPost(ctx, { ...params, ...http }),
  ),
];
