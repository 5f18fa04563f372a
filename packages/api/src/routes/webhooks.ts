import { boardFor } from "@board/core/organization/access";
import { member, user, userOrAgent } from "@board/core/context/actor";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { getPayload, ListedPayload, listPayloads, PayloadsQuery, WebhookPayload } from "@board/core/webhook/payload";
import { getPayloadUsage, PayloadUsage } from "@board/core/webhook/organization-payloads";
import { Redelivered, RedeliverPayloads, redeliverPayload, redeliverPayloads } from "@board/core/webhook/redeliver";
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
import { Ok, ok } from "@board/core/values/wire";
import { webhookResource } from "./conditional-resources.ts";
import { endpoint } from "../endpoint.ts";

const collectionPath = "/api/v1/boards/{board_id}/webhooks";
const itemPath = "/api/v1/boards/{board_id}/webhooks/{webhook_id}";

/** Webhooks: URLs through which external systems send payloads to the agents of a board. */
export const webhooks = [
  endpoint(
    "GET",
    "/api/v1/webhooks/payload-usage",
    {
      as: member,
      summary: "Get the room that webhook payloads take",
      description:
        "The bytes that count toward the limit of the organization, including payloads on boards that the caller may not read.",
      returns: PayloadUsage,
    },
    (ctx) => getPayloadUsage(ctx),
  ),
  endpoint(
    "GET",
    collectionPath,
    {
      as: user,
      summary: "List webhooks",
      errors: [403],
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      query: pageQuery(),
      returns: pageOf(Webhook),
    },
    (ctx, { params, query }) => listWebhooks(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    collectionPath,
    {
      as: user,
      summary: "Create a webhook",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateWebhook,
      returns: Webhook,
    },
    (ctx, { params, body }) => createWebhook(ctx, params.board_id, body),
  ),
  endpoint("GET", itemPath, { as: userOrAgent, summary: "Get a webhook", returns: Webhook }, (ctx, { params }) =>
    getWebhook(ctx, params.board_id, params.webhook_id, "read"),
  ),
  endpoint(
    "PATCH",
    itemPath,
    {
      as: user,
      summary: "Update a webhook",
      conditional: webhookResource,
      description: "A disabled webhook answers posts with 410. Stored payloads remain readable.",
      authorize: (ctx, params) => getWebhook(ctx, params.board_id, params.webhook_id, "write"),
      body: UpdateWebhook,
      returns: Webhook,
    },
    (ctx, { params, body }) => updateWebhook(ctx, params.board_id, params.webhook_id, body),
  ),
  endpoint(
    "DELETE",
    itemPath,
    {
      as: user,
      summary: "Delete a webhook",
      conditional: webhookResource,
      description: "Also deletes its payloads. Memory entries are kept.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeWebhook(ctx, params.board_id, params.webhook_id);
      return ok;
    },
  ),
  endpoint(
    "GET",
    `${itemPath}/payloads`,
    {
      as: userOrAgent,
      summary: "List payloads",
      authorize: (ctx, params) => getWebhook(ctx, params.board_id, params.webhook_id, "read"),
      query: PayloadsQuery,
      returns: pageOf(ListedPayload),
    },
    (ctx, { params, query }) => listPayloads(ctx, params.board_id, params.webhook_id, query),
  ),
  endpoint(
    "GET",
    `${itemPath}/payloads/{payload_id}`,
    { as: userOrAgent, summary: "Get a payload", returns: WebhookPayload },
    (ctx, { params }) => getPayload(ctx, params.board_id, params.webhook_id, params.payload_id),
  ),
  endpoint(
    "POST",
    `${itemPath}/redeliver`,
    {
      as: user,
      operation_id: "redeliver_board_webhook_payloads",
      summary: "Redeliver payloads",
      description: "Notifies the agent again of all payloads that have the given delivery status, oldest first.",
      authorize: (ctx, params) => getWebhook(ctx, params.board_id, params.webhook_id, "write"),
      body: RedeliverPayloads,
      returns: Redelivered,
      status: 202,
    },
    (ctx, { params, body }) => redeliverPayloads(ctx, params.board_id, params.webhook_id, body),
  ),
  endpoint(
    "POST",
    `${itemPath}/payloads/{payload_id}/redeliver`,
    {
      as: user,
      operation_id: "redeliver_board_webhook_payload",
      summary: "Redeliver a payload",
      description: "Notifies the agent of the payload again, whatever its delivery status is.",
      returns: Redelivered,
      status: 202,
    },
    (ctx, { params }) => redeliverPayload(ctx, params.board_id, params.webhook_id, params.payload_id),
  ),
];
