import { type Stage, wait } from "./stage.ts";

/** Every agent looks at its board this often, all at the same moments: who wants the same task meets the others. */
const BEAT_MS = 2_500;

/** The first lines of messages that the agents of the demo understand. */
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

/** What a message names. */
export interface Wake {
  header: Header;
  task_ids: string[];
  /** The payload of a webhook, which the message shows only in part. */
  payload?: { id: string; webhook_id: string };
  /** How an approval was decided. */
  decision?: string;
}

/** What a message is about; undefined for any other. Only what stands before words of others counts. */
export function toWake(message: string): Wake | undefined {
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
 * What wakes an agent from now on: the messages for its session in the order of arrival, and null at its own heartbeat.
 * What comes while it is busy waits. Ends by rejection when the demo is over.
 */
export function wakes(stage: Stage, session_key: string): AsyncGenerator<Wake | null> {
  const queue: Wake[] = [];
  let arrived = () => {};
  stage.gateway.onMessage((message) => {
    const wake = message.session_key === session_key ? toWake(message.message) : undefined;
    if (!wake) return;
    queue.push(wake);
    arrived();
  });
  async function* take(): AsyncGenerator<Wake | null> {
    for (;;) {
      const next = queue.shift();
      if (next) {
        yield next;
        continue;
      }
      const message = new Promise<false>((resolve) => (arrived = () => resolve(false)));
      const beat = wait(stage, BEAT_MS - (performance.now() % BEAT_MS)).then(() => true);
      if (await Promise.race([message, beat])) yield null;
    }
  }
  return take();
}

/** Whether an agent's files are on its host: the first message for it says so. */
export const isSetUp = ({ gateway }: Stage, session_key: string): boolean =>
  gateway.messages.some((message) => message.session_key === session_key);
