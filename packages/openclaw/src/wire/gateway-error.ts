import { ExpectedFailure } from "@board/core/values/errors";

export interface GatewayFailure {
  /** Host error code such as INVALID_REQUEST or UNAVAILABLE, or null when the transport failed. */
  code?: string | null;
  /** Whether a retry may help according to the host, when it reported that. */
  retryable?: boolean | null;
  retry_after_ms?: number | null;
  /** WebSocket close code, HTTP status of the upgrade or system error (ECONNREFUSED), when the transport failed. */
  close_code?: number | null;
  http_status?: number | null;
  system_code?: string | null;
  /** The deadline that this service set for the call has passed. */
  timed_out?: boolean;
  /** Connecting to the host failed for any reason, so no call was made. */
  unconnected?: boolean;
  /** This service may not dial the address (GATEWAY_ALLOWED_HOSTS). */
  refused_address?: boolean;
  /** The call was not made, because other processes held the host's config lock until the time limit. */
  waiting?: boolean;
  details?: unknown;
}

/** A failed gateway call. `message` is the host's cleaned text without any token (docs/reference/gateways.md#error-texts). */
export class GatewayError extends ExpectedFailure {
  readonly failure: GatewayFailure;
  constructor(message: string, failure: GatewayFailure = {}) {
    super(message);
    this.name = "GatewayError";
    this.failure = failure;
  }
  override get retry_after_ms(): number | null {
    return this.failure.retry_after_ms ?? null;
  }

  override get is_transient(): boolean {
    return isTransient(this);
  }

  /** Another client has changed the host's configuration since it was read. */
  override get is_conflict(): boolean {
    return /config changed since last load|base hash required/i.test(this.message);
  }

  /** The host did not accept the connection. A token, a pairing or a setting must be changed before a retry can succeed. */
  override get is_refusal(): boolean {
    const { unconnected, refused_address } = this.failure;
    return unconnected === true && !refused_address && !this.is_transient;
  }

  override get is_waiting(): boolean {
    return this.failure.waiting === true;
  }

  /** The connection could not be opened, or it was lost before the response. */
  override get is_unreachable(): boolean {
    const { close_code, http_status, system_code, timed_out, unconnected } = this.failure;
    return unconnected === true || timed_out === true || [close_code, http_status, system_code].some((part) => part != null);
  }
}

const TRANSIENT_CODES = new Set(
  "ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENOTFOUND EAI_AGAIN".split(
    " ",
  ),
);
const TRANSIENT_CLOSES = new Set([1001, 1006, 1011, 1012, 1013]);
const TRANSIENT_STATUSES = new Set([502, 503, 504]);
/** Texts of temporary failures, for hosts that report no code. Proxies also pass on texts of other client libraries. */
const TRANSIENT_TEXTS =
  /connect call failed|connection refused|errno 111|econnrefused|did not receive a valid http response|no route to host|network is unreachable|host is down|name or service not known|received 1012|service restart|http 50[234]|temporar|connection closed|connection reset/i;
const isTransientText = (text: string) => TRANSIENT_TEXTS.test(text) || (/websocket/i.test(text) && text.includes("503"));

/**
 * Returns whether a retry may help (docs/reference/gateways.md#transient-failures). The host's `retryable` decides first, then the
 * transport's failure, then the text. "timeout" in an error that has a code comes from the application, not from an unreachable
 * host.
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
  return isTransientText(error.message) || ((code ?? null) === null && /timeout|timed out/i.test(error.message));
}

/** Returns the GatewayError that the calls reject with, or null when they succeed. Any other error is rethrown. */
export async function catchGatewayError(calls: () => Promise<unknown>): Promise<GatewayError | null> {
  try {
    await calls();
    return null;
  } catch (error) {
    return asGatewayError(error);
  }
}

/** Returns a gateway's failure as a value. Any other error is rethrown. */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  throw error;
}
