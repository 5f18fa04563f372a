/** Amazon SQS on loopback: an emulator behind the real wire protocol, so that the real client is what runs. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { buildApp } from "fauxqs";

export interface QueueOptions {
  visibility_seconds?: number;
  /** Receives that may fail before a message goes to the queue `deadLetters`, which is created first. */
  max_receives?: number;
  deadLetters?: string;
}

export interface Depth {
  ready: number;
  in_flight: number;
  delayed: number;
}

export interface Sqs {
  readonly client: SQSClient;
  /** What makes any AWS client in any process talk to this emulator. */
  readonly env: Readonly<Record<string, string>>;
  url(queue: string): string;
  /** Creates a queue and returns its URL. */
  create(queue: string, options?: QueueOptions): Promise<string>;
  send(queue: string, body: string): Promise<void>;
  /** Takes up to ten messages out of a queue for good, waiting up to `seconds` for the first. */
  take(queue: string, seconds?: number): Promise<Message[]>;
  /** Bodies of the messages whose delay is not over, in order. They stay. */
  delayed(queue: string): Promise<string[]>;
  depth(queue: string): Promise<Depth>;
  attributes(queue: string): Promise<Record<string, string>>;
  purge(queue: string): Promise<void>;
  /** Refuses connections, as SQS does when it is unreachable. Queues and messages stay. */
  stop(): Promise<void>;
  /** Ends an outage: listens again, on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function startSqs(): Promise<Sqs> {
  const app = buildApp({ logger: false });
  // The emulator's own launcher would listen on every interface.
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  const client = new SQSClient({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
  // Not the address that CreateQueue answers with: its host name resolves nowhere, and the client would follow it.
  const url = (queue: string) => `${endpoint}/000000000000/${queue}`;

  async function attributes(queue: string): Promise<Record<string, string>> {
    const answer = await client.send(new GetQueueAttributesCommand({ QueueUrl: url(queue), AttributeNames: ["All"] }));
    return answer.Attributes ?? {};
  }

  return {
    client,
    env: { AWS_ENDPOINT_URL_SQS: endpoint, AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" },
    url,
    attributes,
    async create(queue, { visibility_seconds = 30, max_receives = 5, deadLetters } = {}) {
      const settings: Record<string, string> = { VisibilityTimeout: String(visibility_seconds) };
      if (deadLetters) {
        await client.send(new CreateQueueCommand({ QueueName: deadLetters }));
        const { QueueArn } = await attributes(deadLetters);
        settings.RedrivePolicy = JSON.stringify({ deadLetterTargetArn: QueueArn, maxReceiveCount: max_receives });
      }
      await client.send(new CreateQueueCommand({ QueueName: queue, Attributes: settings }));
      return url(queue);
    },
    async send(queue, body) {
      await client.send(new SendMessageCommand({ QueueUrl: url(queue), MessageBody: body }));
    },
    async take(queue, seconds = 0) {
      const QueueUrl = url(queue);
      const answer = await client.send(
        new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: 10,
          WaitTimeSeconds: seconds,
          MessageSystemAttributeNames: ["All"],
          MessageAttributeNames: ["All"],
        }),
      );
      for (const { ReceiptHandle } of answer.Messages ?? [])
        await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      return answer.Messages ?? [];
    },
    async delayed(queue) {
      // The emulator's own door: SQS shows nobody what is delayed.
      const answer = await app.inject({ method: "GET", url: `/_fauxqs/queues/${queue}` });
      const { messages } = answer.json<{ messages: { delayed: { body: string }[] } }>();
      return messages.delayed.map(({ body }) => body);
    },
    async depth(queue) {
      const all = await attributes(queue);
      return {
        ready: Number(all.ApproximateNumberOfMessages),
        in_flight: Number(all.ApproximateNumberOfMessagesNotVisible),
        delayed: Number(all.ApproximateNumberOfMessagesDelayed),
      };
    },
    async purge(queue) {
      await client.send(new PurgeQueueCommand({ QueueUrl: url(queue) }));
    },
    async stop() {
      app.server.close();
      app.server.closeAllConnections();
      await once(app.server, "close");
    },
    async start() {
      app.server.listen(port, "127.0.0.1");
      await once(app.server, "listening");
    },
    async close() {
      client.destroy();
      await app.close();
    },
  };
}
