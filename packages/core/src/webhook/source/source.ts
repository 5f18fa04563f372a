import type { Signature } from "./signature.ts";

/** What the service knows about a kind of sender. Texts of the body are untrusted and may have any type. */
export interface Source {
  /** Headers that hold signatures and credentials, in lower case. They are not stored. */
  readonly signature_headers: readonly string[];
  /** Reads the signature from the headers. `header` is the webhook's own `signature_header`, which only `generic` uses. */
  readSignature(headers: Headers, header: string | null): Signature;
  /** The signature is over the body alone, so that a captured post could be sent again under another id and time. */
  readonly signs_body_only?: true;
  /** The field of a form body that holds the event as JSON. */
  readonly form_field?: string;
  /** The sender's id of the delivery, the same when the delivery is repeated. */
  deliveryId(headers: Headers, body: unknown): unknown;
  /** The name of the event. Missing for a source whose requests have none. */
  eventType?(headers: Headers, body: unknown): unknown;
  /** The text that the sender expects back when it checks the address, if this is such a check. */
  challenge?(body: unknown): unknown;
  /** One line about the event, made of `fields.ts` so that it is short and without control characters. */
  summarize?(event_type: string, body: unknown): string;
}
