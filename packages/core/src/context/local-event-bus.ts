import type { BoardEvent } from "./event-body.ts";
import type { EventBus } from "./event-bus.ts";

export type Subscriber = (event: BoardEvent) => void;

interface LocalBus extends EventBus {
  /** Returns a function that ends the subscription. */
  subscribe(subscriber: Subscriber): () => void;
}

/** Creates an event bus inside one process. It calls the subscribers one by one, in the order in which they subscribed. */
export function createLocalBus(): LocalBus {
  const subscribers = new Set<Subscriber>();
  return {
    async publish(event) {
      for (const subscriber of subscribers) subscriber(event);
    },
    subscribe(subscriber) {
      subscribers.add(subscriber);
      return () => subscribers.delete(subscriber);
    },
  };
}
