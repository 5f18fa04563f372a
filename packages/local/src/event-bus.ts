import { type EventBus, lazyBus } from "@board/core/bus";
import { createLocalBus } from "@board/core/local-bus";
import type { Log } from "@board/core/log";
import type { Settings } from "@board/core/settings";

/** The bus that there is in every account. */
const NAME = "default";

/** Where board events go: to the endpoint of the settings, if they name one, and then to this process's log. */
export function openEventBus({ events_endpoint }: Settings, log: Log): EventBus {
  const local = createLocalBus();
  local.subscribe(({ type, ...facts }) => log.debug("board.event", type, facts));
  if (events_endpoint === null) return local;
  // The AWS SDK is loaded for those alone who publish with it.
  const outside = lazyBus(async () => {
    const { createEventBus } = await import("@board/functions/event-bus");
    return createEventBus({ name: NAME, endpoint: events_endpoint });
  });
  return {
    async publish(event) {
      await outside.publish(event);
      await local.publish(event);
    },
  };
}
