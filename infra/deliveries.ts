import { deliveries } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { common, sized } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { mayEnqueue, queue } from "./queue.ts";

queue.subscribe(
  {
    ...common,
    ...sized(deliveries),
    handler: "packages/functions/src/deliveries.handler",
    // A delivered job may make the next one of its lane due.
    permissions: mayEnqueue,
    transform: afterMigration,
  },
  {
    // No window: a notification is wanted now, and a burst fills batches by itself.
    batch: { size: deliveries.batch_size, window: "0 seconds", partialResponses: true },
    transform: {
      // Given above, the secrets in it would pass through SST as plain strings.
      function: (args) => {
        args.environment = environment;
      },
      eventSourceMapping: (args) => {
        // A backlog may not take the account's concurrency from the API, nor all of the database's connections.
        args.scalingConfig = { maximumConcurrency: deliveries.max_concurrency };
      },
    },
  },
);
