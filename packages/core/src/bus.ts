import type { BoardEvent } from "./board-event/detail.ts";
import { ExpectedFailure } from "./errors.ts";

/** The event bus. Throws a `BusError` for an event that was not taken. */
export interface EventBus {
  publish(event: BoardEvent): Promise<void>;
}

/** The event bus is away, or did not take an event. */
export class BusError extends ExpectedFailure {
  override name = "BusError";
}

/** A bus that is opened for the first event: what it needs may take long to load. */
export function lazyBus(open: () => Promise<EventBus>): EventBus {
  let opened: Promise<EventBus> | undefined;
  return { publish: async (event) => (await (opened ??= open())).publish(event) };
}
