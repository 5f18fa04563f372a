import { api } from "../api.ts";
import type { Delivery, Subscription, SubscriptionCreate, SubscriptionUpdate } from "../types.ts";

const LIMIT = 100;
const DELIVERIES = 20;
const ORGANIZATION = "/api/v1/subscriptions";

/** The operations on the subscriptions of a board, or of the organization with all its boards. */
export type SubscriptionStore = ReturnType<typeof subscriptionsOf>;

export function subscriptionsOf(board_id: string | null) {
  // Boards and organizations have the same operations under different paths, so the types of the organization's paths fit both.
  const list = (board_id === null ? ORGANIZATION : `/api/v1/boards/${board_id}/subscriptions`) as typeof ORGANIZATION;
  const item = `${list}/{subscription_id}` as const;
  const deliveries = `${item}/deliveries` as const;
  const delivery = `${deliveries}/{delivery_id}` as const;
  const pathOf = ({ id }: Subscription) => ({ params: { path: { subscription_id: id } } });
  const deliveryPathOf = ({ subscription_id, id }: Delivery) => ({ params: { path: { subscription_id, delivery_id: id } } });
  return {
    board_id,
    read: (signal: AbortSignal) => api.get(list, { params: { query: { limit: LIMIT } }, signal }),
    create: (body: SubscriptionCreate) => api.post(list, { body }),
    update: (of: Subscription, body: SubscriptionUpdate) => api.patch(item, { ...pathOf(of), body }),
    remove: (of: Subscription) => api.delete(item, pathOf(of)),
    rotate: (of: Subscription) => api.post(`${item}/secret`, pathOf(of)),
    test: (of: Subscription) => api.post(`${item}/test`, pathOf(of)),
    recover: (of: Subscription, since: string) => api.post(`${item}/recover`, { ...pathOf(of), body: { since } }),
    deliveries: (of: Subscription, signal: AbortSignal) =>
      api.get(deliveries, { params: { ...pathOf(of).params, query: { limit: DELIVERIES } }, signal }),
    delivery: (of: Delivery, signal: AbortSignal) => api.get(delivery, { ...deliveryPathOf(of), signal }),
    redeliver: (of: Delivery) => api.post(`${delivery}/redeliver`, deliveryPathOf(of)),
  };
}
