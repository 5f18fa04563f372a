/** An emulator of Amazon SQS on loopback. It speaks the wire protocol, so the tests use the real client. */
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

interface QueueOptions {
  visibility_seconds?: number;
  /** How many receives may fail before a message moves to the queue `deadLetters`, which is also created. */
  max_receives?: number;
  deadLetters?: string;
}

interface Depth {
  ready: number;
  in_flight: number;
  delayed: number;
}

export interface Sqs {
  readonly client: SQSClient;
  /** The environment variables that make AWS clients use this emulator. */
  readonly env: Readonly<Record<string, string>>;
  url(queue: string): string;
  /** Creates a queue and returns its URL. */
  create(queue: string, options?: QueueOptions): Promise<string>;
  send(queue: string, body: string): Promise<void>;
  /** Receives and deletes up to ten messages, waiting up to `seconds` for the first. */
  take(queue: string, seconds?: number): Promise<Message[]>;
  /** Returns the bodies of the delayed messages in order, without receiving them. */
  delayed(queue: string): Promise<string[]>;
  depth(queue: string): Promise<Depth>;
  attributes(queue: string): Promise<Record<string, string>>;
  purge(queue: string): Promise<void>;
  /** Starts an outage: connections are refused. Queues and messages are kept. */
  stop(): Promise<void>;
  /** Ends an outage and listens on the same port again. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function startSqs(): Promise<Sqs> {
  const app = buildApp({ logger: false });
  // The emulator's launcher would listen on every interface.
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  const client = new SQSClient({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
  // The URL is built here, because CreateQueue answers with a host name that does not resolve, and the client would use it.
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
      // This uses the emulator's inspection API, since SQS does not show delayed messages.
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
