/** Lambda's event source mapping for SQS: it polls, invokes with a batch and deletes the messages not reported as failed. */
import { setTimeout as sleep } from "node:timers/promises";
import { DeleteMessageBatchCommand, type Message, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import type { Sqs } from "../support/sqs.ts";

export interface EventSourceMapping {
  /** Stops after the current batch or poll, within a second. */
  stop(): Promise<void>;
}

const POLL_SECONDS = 1;
const RETRY_MS = 100;

export function startQueueMapping(
  sqs: Sqs,
  queue: string,
  invoke: (event: SQSEvent) => Promise<SQSBatchResponse | undefined>,
  options: { batch_size?: number } = {},
): EventSourceMapping {
  const QueueUrl = sqs.url(queue);
  let stopped = false;

  async function poll(): Promise<void> {
    const answer = await sqs.client.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: options.batch_size ?? 10,
        WaitTimeSeconds: POLL_SECONDS,
        MessageSystemAttributeNames: ["All"],
        MessageAttributeNames: ["All"],
      }),
    );
    const messages = answer.Messages ?? [];
    if (messages.length === 0) return;
    const failed = await failures(messages);
    const done = messages.filter((message) => !failed.has(message.MessageId ?? ""));
    if (done.length === 0) return;
    const Entries = done.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    await sqs.client.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  }

  /** Returns the ids of failed messages. As on AWS, a function that throws or reports an unknown message fails the whole batch. */
  async function failures(messages: Message[]): Promise<Set<string>> {
    const all = new Set(messages.map((message) => message.MessageId ?? ""));
    try {
      const response = await invoke({ Records: messages.map((message) => toRecord(message, queue)) });
      const reported = (response?.batchItemFailures ?? []).map((failure) => failure.itemIdentifier);
      return reported.every((id) => all.has(id)) ? new Set(reported) : all;
    } catch {
      return all;
    }
  }

  // Only the queue can fail here, and the mapping keeps polling while it is unreachable.
  const ended = (async () => {
    while (!stopped) await poll().catch(() => sleep(RETRY_MS));
  })();
  return {
    async stop() {
      stopped = true;
      await ended;
    },
  };
}

const toRecord = (message: Message, queue: string): SQSRecord => ({
  messageId: message.MessageId ?? "",
  receiptHandle: message.ReceiptHandle ?? "",
  body: message.Body ?? "",
  attributes: message.Attributes as unknown as SQSRecord["attributes"],
  messageAttributes: {},
  md5OfBody: message.MD5OfBody ?? "",
  eventSource: "aws:sqs",
  eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:${queue}`,
  awsRegion: "us-east-1",
});
