import { GatewayError } from "./client.ts";

/** Longest text of a host that is passed on, in characters. */
const TEXT_LIMIT = 500;
const AUTHENTICATION_HINT =
  "Gateway authentication failed. Check the gateway token and this service's scopes and device approval on the host.";

/** A host's text without control characters and surrounding blanks, cut to 500 characters. */
export function cleanText(text: string): string {
  const plain = text
    .replace(/[\t\r\n]+/g, " ")
    .replace(/\p{Cc}/gu, "")
    .trim();
  return plain.slice(0, TEXT_LIMIT).toWellFormed();
}

/** What people are told about a failed gateway call (contract gateways.md §6). */
export function toGatewayMessage(error: unknown): string {
  const text = cleanText(error instanceof Error ? error.message : String(error));
  if (text === "") return AUTHENTICATION_HINT;
  const scope = /missing scope:\s*([\w.:-]+)/i.exec(text)?.[1];
  if (scope !== undefined) {
    return `Gateway access is missing required scope \`${scope}\`. Set up device authentication or give the token this scope on the host.`;
  }
  return /unauthorized|forbidden/i.test(text) ? AUTHENTICATION_HINT : text;
}

const TRANSIENT_CODES = new Set(
  "ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENOTFOUND EAI_AGAIN".split(
    " ",
  ),
);
const TRANSIENT_CLOSES = new Set([1001, 1006, 1011, 1012, 1013]);
const TRANSIENT_STATUSES = new Set([502, 503, 504]);
/** For hosts that say it in words only; the wordings of other clients' libraries come through proxies. */
const TRANSIENT_TEXT = new RegExp(
  "connect call failed|connection refused|errno 111|econnrefused|did not receive a valid http response|no route to host|" +
    "network is unreachable|host is down|name or service not known|received 1012|service restart|http 50[234]|temporar|" +
    "connection closed|connection reset|503.*websocket|websocket.*503",
  "i",
);

/**
 * Whether repeating may help (contract gateways.md §7). The host's own word decides first, then what the transport
 * saw, the text last. "timeout" in the text of a coded error tells of the application's wait, not of the host being away.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { code, retryable, retry_after_ms, close_code, http_status, system_code, timed_out, refused_address } = error.failure;
  if (retryable === false || refused_address || code === "INVALID_REQUEST" || /unsupported file/i.test(error.message))
    return false;
  if (retryable || code === "UNAVAILABLE" || timed_out || (retry_after_ms ?? null) !== null) return true;
  if (typeof http_status === "number") return TRANSIENT_STATUSES.has(http_status);
  if (typeof system_code === "string") return TRANSIENT_CODES.has(system_code) || system_code.startsWith("HPE_");
  if (typeof close_code === "number") return TRANSIENT_CLOSES.has(close_code);
  return TRANSIENT_TEXT.test(error.message) || ((code ?? null) === null && /timeout|timed out/i.test(error.message));
}

/** The host speaks no protocol this client offers: nothing an operator's token or approval would mend. */
export function isProtocolMismatch(error: unknown): boolean {
  return error instanceof GatewayError && (error.failure.close_code === 1002 || /^protocol mismatch/i.test(error.message));
}

/** The host does not know the agent: just created and not loaded yet, or gone. */
export function isMissingAgent(error: unknown): boolean {
  return says(error, /unknown agent|no such agent|agent does not exist|no longer exists|agent.*not found|not found.*agent/i);
}

/** The host does not know the session. */
export function isMissingSession(error: unknown): boolean {
  return says(error, /not found|unknown session|no such session|session does not exist/i);
}

/** The entry to create is there already. */
export function isExistingEntry(error: unknown): boolean {
  if (!(error instanceof GatewayError) || /does not exist/i.test(error.message)) return false;
  return error.failure.code?.toUpperCase() === "CONFLICT" || /agent "[^"]*" already exists/i.test(error.message);
}

function says(error: unknown, pattern: RegExp): boolean {
  return error instanceof GatewayError && pattern.test(error.message);
}
