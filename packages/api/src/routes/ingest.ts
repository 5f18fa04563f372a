import { anyone } from "@board/core/actor";
import { Accepted, ingest as ingestPost } from "@board/core/webhook/ingest";
import { endpoint } from "../endpoint.ts";

/** The public door: any body, no credential. */
export const ingest = [
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/webhooks/{webhook_id}",
    {
      as: anyone,
      operation_id: "post_board_webhook_payload",
      summary: "Post a payload",
      description:
        "Takes JSON, text or form data as it is. The payload is stored, remembered by the board, and its agent is told; the answer does not wait for that. A webhook with a secret wants an HMAC-SHA256 signature of the body.",
      lenient_params: true,
      returns: Accepted,
      status: 202,
    },
    (ctx, { params, http }) => ingestPost(ctx, { ...params, ...http }),
  ),
];
