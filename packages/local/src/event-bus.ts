import { type EventBus, createLazyBus } from "@board/core/context/event-bus";
import { createLocalBus } from "@board/core/context/local-event-bus";
import type { Log } from "@board/core/values/log";
import type { Settings } from "@board/core/config/settings";

/** Every AWS account has a bus with this name. */
const DEFAULT_BUS_NAME = "default";

/** Opens a bus that logs board events. If EVENTS_ENDPOINT is set, the bus also publishes the events there. */
export function openEventBus({ events_endpoint }: Settings, log: Log): EventBus {
  const local = createLocalBus();
  local.subscribe(({ type, ...facts }) => log.debug("board.event", type, facts));
  if (events_endpoint === null) return local;
  // The AWS SDK is loaded only if an endpoint is set.
  const remote = createLazyBus(async () => {
    const { createEventBus } = await import("@board/functions/event-bus");
    return createEventBus({ name: DEFAULT_BUS_NAME, endpoint: events_endpoint });
  });
  return {
    async publish(event) {
      await remote.publish(event);
      await local.publish(event);
    },
  };
}
