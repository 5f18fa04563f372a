import type { Settings } from "../config/settings.ts";
import { type DeliveryRow, toSequence } from "./delivery-row.ts";
import type { SubscriptionRow } from "../schema/subscription.sql.ts";

/** A message to a receiver, before it is signed. */
export interface Message {
  /** Stays the same if the event is sent again. */
  id: string;
  body: string;
}

interface Content {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** Returns the message of a delivery. All attempts send the same message. */
export function toMessage(settings: Settings, { format }: Pick<SubscriptionRow, "format">, delivery: DeliveryRow): Message {
  const { event_id, event_type, occurred_at, detail } = delivery;
  const data = { ...(detail as Record<string, unknown>), sequence: toSequence(delivery) };
  return { id: event_id, body: toBody(settings, format, { type: event_type, timestamp: occurred_at.toISOString(), data }) };
}

export const toBody = (settings: Settings, format: SubscriptionRow["format"], content: Content): string =>
  JSON.stringify(format === "slack" ? { text: slackText(settings, content) } : content);

/** Returns one line with a link to the console. Events contain no text that people wrote, so nothing needs escaping. */
function slackText({ service_url }: Settings, { type, data }: Content): string {
  const { subject, status, actor, board_id } = data as Partial<{
    subject: { type: string; id: string };
    status: string;
    actor: { type: string };
    board_id: string;
  }>;
  const about = subject ? ` · ${subject.type} ${subject.id}` : "";
  const state = status ? ` · ${status}` : "";
  const by = actor
    ? ` · by ${actor.type === "system" ? "the service" : `${actor.type === "user" ? "a person" : "an agent"}`}`
    : "";
  return `*${type}*${about}${state}${by} · <${service_url}/${board_id ? `?board=${board_id}` : ""}|Open>`;
}
