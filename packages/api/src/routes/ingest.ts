import { anyone } from "@board/core/context/actor";
import { WebhookAccepted, WebhookChallenge, ingestWebhook as ingestPost } from "@board/core/webhook/ingest";
import { Answer } from "../edge/answer.ts";
import { endpoint } from "../endpoint.ts";

/** Webhook ingestion. It is public, needs no credentials and accepts any body. */
export const ingest = [
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/webhooks/{webhook_id}",
    {
      as: anyone,
      operation_id: "post_board_webhook_payload",
      summary: "Post a payload",
      description:
        "Accepts JSON, text or form data. The payload is stored and added to the board memory; the agent of the webhook is notified in the background. A webhook with a secret requires the signature of its source. A delivery that was stored within 7 days is not stored again: the answer names its payload and has `Idempotent-Replayed: true`. A request with which Slack only checks the address is answered with 200.",
      lenient_params: true,
      returns: WebhookChallenge,
      accepted: WebhookAccepted,
    },
    async (ctx, { params, http }) => {
      const result = await ingestPost(ctx, { ...params, ...http });
      if ("challenge" in result) return result;
      return new Answer(result.accepted, 202, result.is_repeat ? { "Idempotent-Replayed": "true" } : {});
    },
  ),
];
