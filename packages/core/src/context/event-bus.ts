import type { BoardEvent } from "./event-body.ts";
import { ExpectedFailure } from "../values/errors.ts";
import { openOnce } from "../values/open-once.ts";

/** Publishes board events. `publish` throws a `BusError` if the bus did not accept the event. */
export interface EventBus {
  publish(event: BoardEvent): Promise<void>;
}

/** The event bus is unreachable or refused an event. */
export class BusError extends ExpectedFailure {
  override name = "BusError";
}

/** Creates a bus that is opened at the first event, because loading its client library takes time. */
export function createLazyBus(open: () => Promise<EventBus>): EventBus {
  const opening = openOnce(open);
  return { publish: async (event) => (await opening()).publish(event) };
}
