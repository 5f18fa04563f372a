import type { BoardEvent } from "./board-event/detail.ts";
import type { EventBus } from "./bus.ts";

export type Subscriber = (event: BoardEvent) => void;

export interface LocalBus extends EventBus {
  /** Returns what ends the subscription. */
  subscribe(subscriber: Subscriber): () => void;
}

/** The event bus of one process: subscribers are called as events come, in their order. */
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
