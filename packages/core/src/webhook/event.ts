import { ellipsize } from "../values/text.ts";
import type { SourceName } from "../schema/webhook.sql.ts";
import { SOURCES } from "./source/sources.ts";

const MAX_ID = 200;
const MAX_SUMMARY = 300;
const MAX_CHALLENGE = 1_000;
const FORM = "application/x-www-form-urlencoded";

/** What the source of a webhook reads from a request. */
export interface WebhookEvent {
  event_type: string | null;
  delivery_id: string | null;
  /** One line without control characters. Its author is unknown, so messages show it only inside a fence. */
  summary: string | null;
  /** The text to return if the sender only verifies the address; null for an event. */
  challenge: string | null;
}

/** A received body, and the parsed value if it is JSON. */
interface ReceivedBody {
  text: string;
  value: unknown;
}

/** Reads the event of a request by the rules of the webhook's source. A value with a wrong type or length counts as missing. */
export function readEvent(source_name: SourceName, headers: Headers, received: ReceivedBody): WebhookEvent {
  const source = SOURCES[source_name];
  const body = received.value ?? formValue(source_name, headers.get("content-type"), received.text);
  const event_type = toName(source.eventType?.(headers, body));
  const summary = event_type === null ? undefined : source.summarize?.(event_type, body);
  const challenge = source.challenge?.(body);
  return {
    event_type,
    delivery_id: toName(source.deliveryId(headers, body)),
    summary: summary === undefined ? null : ellipsize(summary.replace(/:$/, ""), MAX_SUMMARY),
    challenge: typeof challenge === "string" && challenge.length <= MAX_CHALLENGE ? challenge : null,
  };
}

/** Returns the readable text of a body: the JSON of the event if the sender posts it in a form field, otherwise the whole body. */
export const readableText = (source_name: SourceName, content_type: string | null, text: string): string =>
  formField(source_name, content_type, text) ?? text;

function formField(source_name: SourceName, content_type: string | null, text: string): string | null {
  const { form_field } = SOURCES[source_name];
  if (form_field === undefined || content_type?.split(";", 1)[0]?.trim().toLowerCase() !== FORM) return null;
  return new URLSearchParams(text).get(form_field);
}

function formValue(source_name: SourceName, content_type: string | null, text: string): unknown {
  try {
    return JSON.parse(formField(source_name, content_type, text) ?? "null");
  } catch {
    return null;
  }
}

/** Accepts an id or event name of a sender if it is printable ASCII without spaces at its ends, else returns null. */
const toName = (value: unknown): string | null =>
  typeof value === "string" && value.length <= MAX_ID && /^[!-~](?:[ -~]*[!-~])?$/.test(value) ? value : null;

/**
 * Returns whether a name matches one of the patterns, in which `*` matches any characters. A request without a name matches no
 * pattern. Each part between two stars is searched only once, so that no pattern is slow.
 */
export const matchesEventTypes = (patterns: readonly string[] | null, event_type: string | null): boolean =>
  patterns === null || (event_type !== null && patterns.some((pattern) => matchesGlob(pattern, event_type)));

function matchesGlob(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}
