import { deliveries, type Queue, syncs } from "../packages/functions/src/manifest.ts";

const FOURTEEN_DAYS = 14 * 24 * 60 * 60;

/** Age counts from the first sending, so dead letters need the longest retention there is to outlive a holiday. */
const deadLettersNamed = (name: string) =>
  new sst.aws.Queue(name, { transform: { queue: { messageRetentionSeconds: FOURTEEN_DAYS } } });

/** A standard queue: the order inside a lane is the jobs table's business. */
const queueNamed = (name: string, { visibility_seconds, max_receives }: Queue, letters: sst.aws.Queue) =>
  new sst.aws.Queue(name, {
    visibilityTimeout: `${visibility_seconds} seconds`,
    dlq: { queue: letters.arn, retry: max_receives },
  });

export const deadLetters = deadLettersNamed("DeadLetters");
export const queue = queueNamed("Deliveries", deliveries, deadLetters);

export const syncDeadLetters = deadLettersNamed("SyncDeadLetters");
export const syncQueue = queueNamed("Syncs", syncs, syncDeadLetters);

/** Runs of schedules that were lost. */
export const scheduleDeadLetters = deadLettersNamed("ScheduleDeadLetters");

/** For functions that enqueue. Not `link`, which would grant every action on the queues. */
export const mayEnqueue = [{ actions: ["sqs:SendMessage"], resources: [queue.arn, syncQueue.arn] }];
