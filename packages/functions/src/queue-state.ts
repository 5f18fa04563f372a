import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { awsClientOptions } from "./aws-client.ts";

/** Approximate numbers of messages in a queue and in its dead-letter queue. */
interface QueueState {
  ready: number;
  in_flight: number;
  delayed: number;
  /** Null for a queue without a dead-letter queue. */
  dead_letters: number | null;
}

const LIMITS = { connect_ms: 3_000, request_ms: 5_000, attempts: 1 };

/**
 * Reads the attributes of a queue with an operator's credentials, because the functions have no permission for it. Throws the
 * errors of SQS.
 */
export async function readQueueState(url: string): Promise<QueueState> {
  const client = new SQSClient(awsClientOptions(LIMITS));
  try {
    const attributes = await readAttributes(client, url);
    const { deadLetterTargetArn } = JSON.parse(attributes["RedrivePolicy"] ?? "{}") as { deadLetterTargetArn?: string };
    const deadLetterAttributes =
      deadLetterTargetArn === undefined ? null : await readAttributes(client, toQueueUrl(url, deadLetterTargetArn));
    return {
      ready: Number(attributes["ApproximateNumberOfMessages"]),
      in_flight: Number(attributes["ApproximateNumberOfMessagesNotVisible"]),
      delayed: Number(attributes["ApproximateNumberOfMessagesDelayed"]),
      dead_letters: deadLetterAttributes && Number(deadLetterAttributes["ApproximateNumberOfMessages"]),
    };
  } finally {
    client.destroy();
  }
}

async function readAttributes(client: SQSClient, url: string): Promise<Record<string, string | undefined>> {
  return (await client.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] }))).Attributes ?? {};
}

/**
 * Derives a queue's URL from its ARN. SQS reports a dead-letter queue by its ARN, but its calls take URLs. Both queues are always
 * in the same account and region.
 */
const toQueueUrl = (url: string, arn: string) => url.slice(0, url.lastIndexOf("/") + 1) + arn.split(":").at(-1)!;
