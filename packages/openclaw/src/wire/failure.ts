import { asRecord } from "./frame.ts";
import { GatewayError } from "./gateway-error.ts";

/** Longest text of a host that is shown, in characters. */
const TEXT_LIMIT = 500;
const AUTHENTICATION_HINT =
  "Gateway authentication failed. Check the gateway token (gateway.auth.token in the host's openclaw.json) and this service's scopes and device approval on the host.";
/** Matches an error in which the host names the request by which its operator can approve this service. */
const PAIRING_REQUIRED = /^pairing required.*?\(request ([\w-]{1,64})\)$/i;

/** Removes control characters and surrounding white space from a host's text and cuts it to 500 characters. */
export function cleanText(text: string): string {
  const plain = text
    .replace(/[\t\r\n]+/g, " ")
    .replace(/\p{Cc}/gu, "")
    .trim();
  return plain.slice(0, TEXT_LIMIT).toWellFormed();
}

/** Returns the text that people see for a failed gateway call (docs/reference/gateways.md#error-texts). */
export function toGatewayMessage(error: unknown): string {
  const text = cleanText(error instanceof Error ? error.message : String(error));
  if (text === "") return AUTHENTICATION_HINT;
  const scope = /missing scope:\s*([\w.:-]+)/i.exec(text)?.[1];
  if (scope !== undefined) {
    return `Gateway access is missing required scope \`${scope}\`. Set up device authentication or give the token this scope on the host.`;
  }
  const request_id = PAIRING_REQUIRED.exec(text)?.[1];
  if (request_id !== undefined) return `${text}. Run \`openclaw devices approve ${request_id}\` on the host.`;
  return /unauthorized|forbidden/i.test(text) ? AUTHENTICATION_HINT : text;
}

/** Names the pairing request in the text of a refusal, because jobs store only the text. */
export function toConnectMessage({ message, failure }: GatewayError): string {
  const { requestId } = asRecord(failure.details) ?? {};
  const isNamed = typeof requestId === "string" && /^[\w-]{1,64}$/.test(requestId) && /^pairing required/i.test(message);
  return isNamed ? `${message} (request ${requestId})` : message;
}

/** Returns whether the host speaks no protocol that this client offers. A new token or device approval would not help. */
export function isProtocolMismatch(error: unknown): boolean {
  return error instanceof GatewayError && (error.failure.close_code === 1002 || /^protocol mismatch/i.test(error.message));
}

/** Returns whether the host does not know the agent, which was just created and is not loaded yet, or was removed. */
export function isMissingAgent(error: unknown): boolean {
  if (hasMessage(error, /unknown agent|no such agent|agent does not exist|no longer exists/i)) return true;
  return hasMessage(error, /not found/i) && hasMessage(error, /agent/i);
}

/** Returns whether the host does not know the session. */
export function isMissingSession(error: unknown): boolean {
  return hasMessage(error, /not found|unknown session|no such session|session does not exist/i);
}

/** Returns whether the entry that was to be created already exists. */
export function isExistingEntry(error: unknown): boolean {
  if (!(error instanceof GatewayError) || /does not exist/i.test(error.message)) return false;
  return error.failure.code?.toUpperCase() === "CONFLICT" || /agent "[^"]*" already exists/i.test(error.message);
}

function hasMessage(error: unknown, pattern: RegExp): boolean {
  return error instanceof GatewayError && pattern.test(error.message);
}
