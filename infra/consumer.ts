import type { Queue } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { common, sized } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { mayEnqueue } from "./queue.ts";

type Permissions = { actions: string[]; resources: $util.Input<string>[] }[];

/** Has the function of that name in `packages/functions/src` work off a queue. `further` is what it may do beside. */
export function consume(queue: sst.aws.Queue, name: string, settings: Queue, further: Permissions = []) {
  const subscriber = queue.subscribe(
    {
      ...common,
      ...sized(settings),
      handler: `packages/functions/src/${name}.handler`,
      // A job that is done may make the next one of its lane due.
      permissions: [...mayEnqueue, ...further],
      transform: afterMigration,
    },
    {
      // No window: what is queued is wanted now, and a burst fills batches by itself.
      batch: { size: settings.batch_size, window: "0 seconds", partialResponses: true },
      transform: {
        // Given above, the secrets in it would pass through SST as plain strings.
        function: (args) => {
          args.environment = environment;
        },
        eventSourceMapping: (args) => {
          // A backlog may not take the account's concurrency from the API, nor all of the database's connections.
          args.scalingConfig = { maximumConcurrency: settings.max_concurrency };
        },
      },
    },
  );
  return subscriber.nodes.function;
}
