import { EventEmitter, on } from "node:events";
import type { AgentRead } from "@board/core/agent/agent";
import type { AgentHealth } from "@board/core/agent/self";
import type { WebhookPayload } from "@board/core/webhook/payload";
import type { ChatMessage } from "../fake-gateway/host.ts";
import { iris } from "./cast.ts";
import { judge } from "./rules.ts";
import type { Agent } from "./setting.ts";
import { type Stage, wait } from "./stage.ts";

/** As much of a payload as the lead is willing to read. */
const MAX_CHARS = 1_500;
/** A model thinks for longer; this is for the eye. */
const THINKING_MS = 500;

/** The lead sleeps until its gateway has a message for it, then takes a turn; one turn after the other. */
export async function playLead(stage: Stage, agent: Agent): Promise<void> {
  for await (const { message } of inbox(stage, agent.session_key)) {
    const notification = toNotification(message);
    if (notification) await takeTurn(stage, agent, notification);
  }
}

/** The messages for a session, in the order of arrival; ends by rejection when the demo is over. */
async function* inbox({ gateway, over }: Stage, session_key: string): AsyncGenerator<ChatMessage> {
  const arrivals = new EventEmitter();
  gateway.onMessage((message) => {
    if (message.session_key === session_key) arrivals.emit("message", message);
  });
  for await (const [message] of on(arrivals, "message", { signal: over })) yield message as ChatMessage;
}

interface Notification {
  payload_id: string;
  /** Where the whole payload is, as the message says. */
  path: string;
}

/** What a webhook notification names; undefined for any other message. Only what stands before the payload counts. */
export function toNotification(message: string): Notification | undefined {
  if (!message.startsWith("WEBHOOK EVENT RECEIVED")) return undefined;
  const [, payload_id] = /^Payload ID: (\S+)$/m.exec(message) ?? [];
  const [, path] = /GET (\/api\/v1\/agent\/\S+\/payloads\/\S+)/.exec(message) ?? [];
  return payload_id && path ? { payload_id, path } : undefined;
}

async function takeTurn(stage: Stage, { call, board_id }: Agent, { payload_id, path }: Notification): Promise<void> {
  const { screen, tally } = stage;
  await call<AgentRead>("POST", "/api/v1/agent/heartbeat");
  const me = await call<AgentHealth>("GET", "/api/v1/agent/healthz");
  const { payload } = await call<WebhookPayload>("GET", `${path}?max_chars=${MAX_CHARS}`);
  const length = typeof payload === "string" ? payload.length : JSON.stringify(payload).length;
  const cut = length === MAX_CHARS ? "the first " : "";
  screen.tell(iris, `is ${me.status} and reads ${cut}${length} characters`);
  await wait(stage, THINKING_MS);

  const { note, tags, request } = judge(payload);
  const memory = `/api/v1/agent/boards/${board_id}/memory`;
  await call("POST", memory, { content: note, tags: [...tags, `payload:${payload_id}`] });
  tally.noted();
  screen.tell(iris, `notes: ${note}`);
  if (request) {
    const line = `@milo ${request}`;
    await call("POST", memory, { content: line, tags: ["chat"] });
    tally.said();
    screen.tell(iris, `says: ${line}`);
  }
  tally.handled(payload_id);
}
