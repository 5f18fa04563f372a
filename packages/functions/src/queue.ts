import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { WakeUp } from "@board/core/job/job";
import type { QueueName } from "@board/core/job/kinds";
import { errorText, type Log } from "@board/core/log";

/** A queue that does not answer must not hold up the request that relays. */
const CONNECT_MS = 1_000;
const REQUEST_MS = 2_000;

let client: SQSClient | undefined;

/**
 * Sends job ids to their queues, at most ten at a time; tells which were not taken, and one queue's failure is none of the
 * other's. The message group is the organization: on a standard queue that keeps one tenant's flood from delaying the others.
 */
export const sendWakeUps =
  (urls: Readonly<Record<QueueName, string>>, log: Log) =>
  async (wakeUps: WakeUp[]): Promise<{ failed: string[] }> => {
    const failed = await Promise.all(
      [...Map.groupBy(wakeUps, ({ queue }) => queue)].map(([queue, part]) =>
        send(urls[queue], part).catch((error: unknown) => {
          const message = "A queue did not take wake-ups; they are sent again later";
          log.warn("jobs.relay_failed", message, { queue, error: errorText(error) });
          return part.map(({ id }) => id);
        }),
      ),
    );
    return { failed: failed.flat() };
  };

/** Returns the ids that the queue did not take. */
async function send(queueUrl: string, wakeUps: readonly WakeUp[]): Promise<string[]> {
  client ??= new SQSClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
  });
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
