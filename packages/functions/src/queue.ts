import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { WakeUp } from "@board/core/job/job";

/** A queue that does not answer must not hold up the request that relays. */
const CONNECT_MS = 1_000;
const REQUEST_MS = 2_000;

let client: SQSClient | undefined;

/**
 * Sends job ids to the queue, at most ten at a time; tells which were not taken. The message group is the organization:
 * on a standard queue that keeps one tenant's flood from delaying the others.
 */
export const sendWakeUps =
  (queueUrl: string) =>
  async (wakeUps: WakeUp[]): Promise<{ failed: string[] }> => {
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
    return { failed: (result.Failed ?? []).flatMap((entry) => (entry.Id ? [entry.Id] : [])) };
  };
