import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { WakeUp } from "@board/core/job/relay";
import type { QueueName } from "@board/core/job/kinds";
import { errorText, type Log } from "@board/core/values/log";
import { awsClientOptions } from "./aws-client.ts";

/** The limits are short, because a request waits for the relay, and a queue that does not respond must not delay the request. */
const LIMITS = { connect_ms: 1_000, request_ms: 2_000, attempts: 2 };

/** Sends wake-ups and returns the ids of unsent wake-ups. Failures are logged to `log`, never thrown. */
type WakeUpSender = (wakeUps: WakeUp[], log: Log) => Promise<{ failed: string[] }>;

/** Sends job ids to their queues, at most ten at a time. When one queue fails, the job ids of other queues are still sent. */
export function createWakeUpSender(urls: Readonly<Record<QueueName, string>>): WakeUpSender {
  const client = new SQSClient(awsClientOptions(LIMITS));
  return async (wakeUps, log) => {
    const failed = await Promise.all(
      [...Map.groupBy(wakeUps, ({ queue }) => queue)].map(([queue, part]) =>
        sendBatch(client, urls[queue], part).catch((error: unknown) => {
          const message = "Sending wake-ups to a queue failed; they are sent again later";
          log.warn("jobs.relay_failed", message, { queue, error: errorText(error) });
          return part.map(({ id }) => id);
        }),
      ),
    );
    return { failed: failed.flat() };
  };
}

/**
 * Returns the ids that the queue rejected. The message group is the organization: on a standard queue this gives fair scheduling,
 * so one tenant's backlog does not delay other tenants.
 */
async function sendBatch(client: SQSClient, queueUrl: string, wakeUps: readonly WakeUp[]): Promise<string[]> {
  const result = await client.send(
    new SendMessageBatchCommand({
      QueueUrl: queueUrl,
      Entries: wakeUps.map(({ id, organization_id, delay_seconds }) => ({
        Id: id,
        MessageBody: JSON.stringify({ id }),
        DelaySeconds: delay_seconds,
        MessageGroupId: organization_id ?? "none",
      })),
    }),
  );
  return (result.Failed ?? []).flatMap((entry) => (entry.Id ? [entry.Id] : []));
}
