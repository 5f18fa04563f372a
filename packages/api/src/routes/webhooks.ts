import { boardFor } from "@board/core/access";
import { user, userOrAgent } from "@board/core/actor";
import { pageOf, pageQuery } from "@board/core/page";
import { getPayload, listPayloads, WebhookPayload } from "@board/core/webhook/payload";
import {
  CreateWebhook,
  createWebhook,
  getWebhook,
  listWebhooks,
  removeWebhook,
  UpdateWebhook,
  updateWebhook,
  Webhook,
} from "@board/core/webhook/webhook";
import { Ok, ok } from "@board/core/wire";
import { endpoint } from "../endpoint.ts";

const all = "/api/v1/boards/{board_id}/webhooks";
const one = "/api/v1/boards/{board_id}/webhooks/{webhook_id}";

/** Addresses through which external systems reach the agents of a board. */
export const webhooks = [
  endpoint(
    "GET",
    all,
    {
      as: user,
      summary: "List webhooks",
      errors: [403],
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      query: pageQuery(),
      returns: pageOf(Webhook),
    },
    (ctx, { params, query }) => listWebhooks(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    all,
    {
      as: user,
      summary: "Create a webhook",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateWebhook,
      returns: Webhook,
    },
    (ctx, { params, body }) => createWebhook(ctx, params.board_id, body),
  ),
  endpoint("GET", one, { as: userOrAgent, summary: "Get a webhook", returns: Webhook }, (ctx, { params }) =>
    getWebhook(ctx, params.board_id, params.webhook_id, "read"),
  ),
  endpoint(
    "PATCH",
    one,
    {
      as: user,
      summary: "Change a webhook",
      description: "While disabled, posts are answered with 410; stored payloads stay readable.",
      reaches: (ctx, params) => getWebhook(ctx, params.board_id, params.webhook_id, "write"),
      body: UpdateWebhook,
      returns: Webhook,
    },
    (ctx, { params, body }) => updateWebhook(ctx, params.board_id, params.webhook_id, body),
  ),
  endpoint(
    "DELETE",
    one,
    { as: user, summary: "Delete a webhook", description: "Its payloads go with it; memory entries stay.", returns: Ok },
    async (ctx, { params }) => {
      await removeWebhook(ctx, params.board_id, params.webhook_id);
      return ok;
    },
  ),
  endpoint(
    "GET",
    `${one}/payloads`,
    {
      as: userOrAgent,
      summary: "List payloads",
      reaches: (ctx, params) => getWebhook(ctx, params.board_id, params.webhook_id, "read"),
      query: pageQuery(),
      returns: pageOf(WebhookPayload),
    },
    (ctx, { params, query }) => listPayloads(ctx, params.board_id, params.webhook_id, query),
  ),
  endpoint(
    "GET",
    `${one}/payloads/{payload_id}`,
    { as: userOrAgent, summary: "Get a payload", returns: WebhookPayload },
    (ctx, { params }) => getPayload(ctx, params.board_id, params.webhook_id, params.payload_id),
  ),
];
