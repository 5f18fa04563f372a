import { deliveries, outbound, probes, type Queue, syncs } from "../packages/functions/src/manifest.ts";

const FOURTEEN_DAYS = 14 * 24 * 60 * 60;

/** Creates a queue with the maximum retention: a message's age counts from its first send, and an operator may come days later. */
const createDeadLetterQueue = (name: string) =>
  new sst.aws.Queue(name, { transform: { queue: { messageRetentionSeconds: FOURTEEN_DAYS } } });

/** Creates a standard queue. FIFO is not needed, because the jobs table keeps the order within a lane. */
const createQueue = (name: string, { visibility_seconds, max_receives }: Queue, deadLetters: sst.aws.Queue) =>
  new sst.aws.Queue(name, {
    visibilityTimeout: `${visibility_seconds} seconds`,
    dlq: { queue: deadLetters.arn, retry: max_receives },
  });

export const deliveryDeadLetters = createDeadLetterQueue("DeadLetters");
export const deliveryQueue = createQueue("Deliveries", deliveries, deliveryDeadLetters);

export const syncDeadLetters = createDeadLetterQueue("SyncDeadLetters");
export const syncQueue = createQueue("Syncs", syncs, syncDeadLetters);

export const probeDeadLetters = createDeadLetterQueue("ProbeDeadLetters");
export const probeQueue = createQueue("Probes", probes, probeDeadLetters);

export const outboundDeadLetters = createDeadLetterQueue("OutboundDeadLetters");
export const outboundQueue = createQueue("Outbound", outbound, outboundDeadLetters);

/** Scheduled runs that failed permanently. */
export const scheduleDeadLetters = createDeadLetterQueue("ScheduleDeadLetters");

/** Permissions for functions that send wake-ups. `link` is not used, because it would grant all actions on the queues. */
export const enqueuePermissions = [
  { actions: ["sqs:SendMessage"], resources: [deliveryQueue.arn, syncQueue.arn, probeQueue.arn, outboundQueue.arn] },
];
