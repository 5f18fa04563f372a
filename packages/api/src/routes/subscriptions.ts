import { type Actor, admin, type Role, type User, user } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { pageOf, pageQuery } from "@board/core/lists/page";
import {
  Delivery,
  DeliveryDetail,
  DeliveryPage,
  DeliveryQuery,
  getDelivery,
  listDeliveries,
  RecoverDeliveries,
  RecoveredDeliveries,
  recoverDeliveries,
  redeliver,
} from "@board/core/subscription/delivery";
import { boardOwner, organizationOwner, type Owner } from "@board/core/subscription/owner";
import {
  CreateSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
  removeSubscription,
  rotateSecret,
  Subscription,
  SubscriptionWithSecret,
  UpdateSubscription,
  updateSubscription,
} from "@board/core/subscription/subscription";
import { sendTestMessage, TestResult } from "@board/core/subscription/test-message";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../endpoint.ts";

interface Ids {
  board_id: string;
  subscription_id: string;
  delivery_id: string;
}

/** Declares the operations for one kind of owner. `of` is the owner's name in the summaries. */
function subscriptionsOf<A extends User & Actor>(
  path: string,
  role: Role<A>,
  of: string,
  readOwner: (ctx: Context<A>, ids: Ids) => Owner | Promise<Owner>,
) {
  /** Casts the parameters, which have no types, because the path is not a literal type here. */
  const toIds = (params: object) => params as Ids;
  const ownerOf = (ctx: Context<A>, params: object) => Promise.resolve(readOwner(ctx, toIds(params)));
  const itemPath = `${path}/{subscription_id}`;
  const deliveryPath = `${itemPath}/deliveries/{delivery_id}`;
  const authorizeOwner = ownerOf;
  const authorize = async (ctx: Context<A>, params: object) =>
    getSubscription(ctx, await ownerOf(ctx, params), toIds(params).subscription_id);
  return [
    endpoint(
      "GET",
      path,
      {
        as: role,
        summary: `List subscriptions of ${of}`,
        errors: [403],
        authorize: authorizeOwner,
        query: pageQuery(),
        returns: pageOf(Subscription),
      },
      async (ctx, { params, query }) => listSubscriptions(ctx, await ownerOf(ctx, params), query),
    ),
    endpoint(
      "POST",
      path,
      {
        as: role,
        summary: `Create a subscription of ${of}`,
        calls_out: true,
        description: "The answer contains the secret, which is not shown again.",
        errors: [409],
        authorize: authorizeOwner,
        body: CreateSubscription,
        secrets: ["secret"],
        returns: SubscriptionWithSecret,
      },
      async (ctx, { params, body }) => createSubscription(ctx, await ownerOf(ctx, params), body),
    ),
    endpoint(
      "GET",
      itemPath,
      { as: role, summary: `Get a subscription of ${of}`, errors: [403], returns: Subscription },
      async (ctx, { params }) => getSubscription(ctx, await ownerOf(ctx, params), toIds(params).subscription_id),
    ),
    endpoint(
      "PATCH",
      itemPath,
      {
        as: role,
        summary: `Update a subscription of ${of}`,
        description: "Events that happen while a subscription is not active are not stored for it.",
        authorize,
        body: UpdateSubscription,
        returns: Subscription,
      },
      async (ctx, { params, body }) => updateSubscription(ctx, await ownerOf(ctx, params), toIds(params).subscription_id, body),
    ),
    endpoint(
      "DELETE",
      itemPath,
      { as: role, summary: `Delete a subscription of ${of}`, description: "Also deletes its deliveries.", returns: Ok },
      async (ctx, { params }) => {
        await removeSubscription(ctx, await ownerOf(ctx, params), toIds(params).subscription_id);
        return ok;
      },
    ),
    endpoint(
      "POST",
      `${itemPath}/secret`,
      {
        as: role,
        summary: `Rotate the secret of a subscription of ${of}`,
        description: "For 24 hours, messages are also signed with the old secret.",
        secrets: ["secret"],
        returns: SubscriptionWithSecret,
      },
      async (ctx, { params }) => rotateSecret(ctx, await ownerOf(ctx, params), toIds(params).subscription_id),
    ),
    endpoint(
      "POST",
      `${itemPath}/test`,
      {
        as: role,
        summary: `Send a test message to a subscription of ${of}`,
        calls_out: true,
        description: "Sends the event `subscription.test` once and waits up to 15 s for the answer.",
        authorize,
        returns: TestResult,
      },
      async (ctx, { params }) => sendTestMessage(ctx, await ownerOf(ctx, params), toIds(params).subscription_id),
    ),
    endpoint(
      "GET",
      `${itemPath}/deliveries`,
      {
        as: role,
        summary: `List deliveries of a subscription of ${of}`,
        errors: [403],
        authorize,
        query: DeliveryQuery,
        returns: DeliveryPage,
      },
      async (ctx, { params, query }) => listDeliveries(ctx, await ownerOf(ctx, params), toIds(params).subscription_id, query),
    ),
    endpoint(
      "GET",
      deliveryPath,
      { as: role, summary: `Get a delivery of a subscription of ${of}`, errors: [403], returns: DeliveryDetail },
      async (ctx, { params }) => {
        const { subscription_id, delivery_id } = toIds(params);
        return getDelivery(ctx, await ownerOf(ctx, params), subscription_id, delivery_id);
      },
    ),
    endpoint(
      "POST",
      `${deliveryPath}/redeliver`,
      {
        as: role,
        summary: `Send a delivery of a subscription of ${of} again`,
        description: "Works for a delivery of any status. The event id stays the same.",
        status: 202,
        errors: [409],
        returns: Delivery,
      },
      async (ctx, { params }) => {
        const { subscription_id, delivery_id } = toIds(params);
        return redeliver(ctx, await ownerOf(ctx, params), subscription_id, delivery_id);
      },
    ),
    endpoint(
      "POST",
      `${itemPath}/recover`,
      {
        as: role,
        summary: `Send failed deliveries of a subscription of ${of} again`,
        description: "Oldest first, at most 10,000 at a time.",
        status: 202,
        errors: [409],
        authorize,
        body: RecoverDeliveries,
        returns: RecoveredDeliveries,
      },
      async (ctx, { params, body }) => recoverDeliveries(ctx, await ownerOf(ctx, params), toIds(params).subscription_id, body),
    ),
  ];
}

/** Outbound subscriptions: addresses to which the events of an organization or a board are sent. */
export const subscriptions = [
  ...subscriptionsOf("/api/v1/subscriptions", admin, "the organization", (ctx) => organizationOwner(ctx)),
  ...subscriptionsOf("/api/v1/boards/{board_id}/subscriptions", user, "a board", (ctx, { board_id }) =>
    boardOwner(ctx, board_id),
  ),
];
