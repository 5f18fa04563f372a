import { deliveries } from "../packages/functions/src/manifest.ts";

const FOURTEEN_DAYS = 14 * 24 * 60 * 60;

/** Age counts from the first sending, so dead letters need the longest retention there is to outlive a holiday. */
export const deadLetters = new sst.aws.Queue("DeadLetters", {
  transform: { queue: { messageRetentionSeconds: FOURTEEN_DAYS } },
});

/** A standard queue: the order inside a lane is the jobs table's business. */
export const queue = new sst.aws.Queue("Deliveries", {
  visibilityTimeout: `${deliveries.visibility_seconds} seconds`,
  dlq: { queue: deadLetters.arn, retry: deliveries.max_receives },
});

/** For functions that enqueue. Not `link`, which would grant every action on the queue. */
export const mayEnqueue = [{ actions: ["sqs:SendMessage"], resources: [queue.arn] }];
