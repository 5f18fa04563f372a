import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";

/** Messages in a queue and in its dead-letter queue, about as many as SQS says. */
export interface QueueState {
  ready: number;
  in_flight: number;
  delayed: number;
  /** Null for a queue without a dead-letter queue. */
  dead_letters: number | null;
}

const CONNECT_MS = 3_000;
const REQUEST_MS = 5_000;

/** Looks at a queue as an operator, who may read attributes; the functions themselves may not. Throws what SQS says. */
export async function readQueueState(url: string): Promise<QueueState> {
  const client = new SQSClient({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
  });
  try {
    const attributes = await readAttributes(client, url);
    const { deadLetterTargetArn } = JSON.parse(attributes["RedrivePolicy"] ?? "{}") as { deadLetterTargetArn?: string };
    const letters = deadLetterTargetArn === undefined ? null : await readAttributes(client, siblingOf(url, deadLetterTargetArn));
    return {
      ready: Number(attributes["ApproximateNumberOfMessages"]),
      in_flight: Number(attributes["ApproximateNumberOfMessagesNotVisible"]),
      delayed: Number(attributes["ApproximateNumberOfMessagesDelayed"]),
      dead_letters: letters && Number(letters["ApproximateNumberOfMessages"]),
    };
  } finally {
    client.destroy();
  }
}

async function readAttributes(client: SQSClient, url: string): Promise<Record<string, string | undefined>> {
  return (await client.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] }))).Attributes ?? {};
}

/** SQS names a dead-letter queue by its ARN and takes URLs. It is always of the same account and region. */
const siblingOf = (url: string, arn: string) => url.replace(/[^/]+$/, arn.split(":").at(-1)!);
