import { type DemoContext, wait } from "./demo-context.ts";

/** Interval of the heartbeats. All agents check their board at the same time, so that they compete for tasks. */
const HEARTBEAT_MS = 2_500;

/** The headers of the messages that the demo agents handle. */
const HEADERS = [
  "WEBHOOK EVENT RECEIVED",
  "NEW TASK ADDED",
  "TASK ASSIGNED",
  "TASK READY FOR LEAD REVIEW",
  "CHANGES REQUESTED",
  "TASK MENTION",
  "NEW TASK COMMENT",
  "APPROVAL RESOLVED",
] as const;
export type Header = (typeof HEADERS)[number];

/** The parsed content of a message. */
export interface AgentMessage {
  header: Header;
  task_ids: string[];
  /** The webhook payload. The message contains only a preview of it. */
  payload?: { id: string; webhook_id: string };
  /** The decision of an approval. */
  decision?: string;
}

/** Parses a message; undefined for an unknown header. Only lines that the service itself writes are used, never quoted text. */
export function parseMessage(message: string): AgentMessage | undefined {
  const header = HEADERS.find((known) => message.startsWith(`${known}\n`));
  if (!header) return undefined;
  const line = (pattern: RegExp) => pattern.exec(message)?.[1];
  const task_ids = line(/^Task IDs?: (.+)$/m)?.split(", ") ?? [];
  if (header === "APPROVAL RESOLVED") return { header, task_ids, decision: line(/^Decision: (\S+)$/m) ?? "" };
  if (header !== "WEBHOOK EVENT RECEIVED") return { header, task_ids };
  const id = line(/^Payload ID: (\S+)$/m);
  const webhook_id = line(/GET \/api\/v1\/agent\/\S+\/webhooks\/([^\s/]+)\/payloads\//);
  return id && webhook_id ? { header, task_ids: [], payload: { id, webhook_id } } : undefined;
}

/**
 * Yields the messages to an agent in order of arrival, and null at each heartbeat. Messages that arrive while the agent is
 * busy are queued. Rejects when the demo ends.
 */
export function receiveMessages(demo: DemoContext, session_key: string): AsyncGenerator<AgentMessage | null> {
  const queue: AgentMessage[] = [];
  let resolveArrival = () => {};
  demo.gateway.onMessage((message) => {
    const wake = message.session_key === session_key ? parseMessage(message.message) : undefined;
    if (!wake) return;
    queue.push(wake);
    resolveArrival();
  });
  async function* take(): AsyncGenerator<AgentMessage | null> {
    for (;;) {
      const next = queue.shift();
      if (next) {
        yield next;
        continue;
      }
      const message = new Promise<false>((resolve) => (resolveArrival = () => resolve(false)));
      const beat = wait(demo, HEARTBEAT_MS - (performance.now() % HEARTBEAT_MS)).then(() => true);
      if (await Promise.race([message, beat])) yield null;
    }
  }
  return take();
}

/** Whether an agent is set up on its host, which is certain once it has received a message. */
export const isProvisioned = ({ gateway }: DemoContext, session_key: string): boolean =>
  gateway.messages.some((message) => message.session_key === session_key);
