import type { Signature } from "./signature.ts";

/** The rules for one kind of sender. Values in the body are untrusted and can have any type. */
export interface Source {
  /** Headers with signatures and credentials, in lower case. They are not stored. */
  readonly signature_headers: readonly string[];
  /** Reads the signature from the headers. `header` is the webhook's own `signature_header`, which only `generic` uses. */
  readSignature(headers: Headers, header: string | null): Signature;
  /** Set if the signature covers only the body. A captured post could then be sent again with a different id and time. */
  readonly signs_body_only?: true;
  /** The form field that contains the event as JSON, for senders that post forms. */
  readonly form_field?: string;
  /** The sender's id of the delivery. A repeat has the same id. */
  deliveryId(headers: Headers, body: unknown): unknown;
  /** The name of the event. Undefined for a source whose requests have no event names. */
  eventType?(headers: Headers, body: unknown): unknown;
  /** The text that the sender expects as the answer, if the request only verifies the address. */
  challenge?(body: unknown): unknown;
  /** One line about the event. The functions of `fields.ts` keep it short and free of control characters. */
  summarize?(event_type: string, body: unknown): string;
}
