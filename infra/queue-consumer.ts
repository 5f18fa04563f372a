import type { Queue } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { commonFunctionArgs, toSizeArgs } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { enqueuePermissions } from "./queue.ts";

type Permissions = { actions: string[]; resources: $util.Input<string>[] }[];

/** Creates a function that consumes only this queue, and gives it `extraPermissions`. */
export function subscribeConsumer(queue: sst.aws.Queue, settings: Queue, extraPermissions: Permissions = []) {
  const subscriber = queue.subscribe(
    {
      ...commonFunctionArgs,
      ...toSizeArgs(settings),
      handler: "packages/functions/src/consume.handler",
      // When a job ends, the next job of its lane becomes due. The consumer sends its wake-up.
      permissions: [...enqueuePermissions, ...extraPermissions],
      transform: afterMigration,
    },
    {
      // No batching window: messages are urgent, and a burst fills batches anyway.
      batch: { size: settings.batch_size, window: "0 seconds", partialResponses: true },
      transform: {
        // Set here, because otherwise SST would pass the secrets on as plain strings.
        function: (args) => {
          args.environment = environment;
        },
        eventSourceMapping: (args) => {
          // A backlog must not use up the concurrency of the account or the connections of the database.
          args.scalingConfig = { maximumConcurrency: settings.max_concurrency };
        },
      },
    },
  );
  return subscriber.nodes.function;
}
