import { ExpectedFailure } from "../errors.ts";

/** How to reach one gateway. The token is plain text and lives in memory only. */
export interface GatewayTarget {
  url: string;
  token: string | null;
  disable_device_pairing: boolean;
  allow_insecure_tls: boolean;
}

/** What a host says of itself when a connection is accepted. `version` is the host's text, `dev` for a development build, or null; `version.ts` judges it. */
export interface GatewayHello {
  protocol: number;
  version: string | null;
  methods: readonly string[];
  events: readonly string[];
  /** What this connection may do; null when the host does not tell. */
  scopes: readonly string[] | null;
  /** By how much the host's clock is ahead of this machine's; null when it does not tell its time. */
  clock_ahead_ms: number | null;
  max_payload: number;
}

/**
 * The port through which the domain talks to OpenClaw gateways; `websocket.ts` is the real one.
 * Every call has a deadline and ends in a result or a GatewayError, never in silence.
 */
export interface Gateways {
  /** Connects when there is no open connection and returns the host's hello; `timeout_ms` bounds the wait for all of it. */
  hello(target: GatewayTarget, options?: CallOptions): Promise<GatewayHello>;
  /** One RPC. Resolves with the payload (null is a valid one), rejects with a GatewayError. */
  request(target: GatewayTarget, method: string, params: object, options?: CallOptions): Promise<unknown>;
  /** Closes every connection; calls still waiting fail. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** Milliseconds for this call alone, from sending to answer; connecting has its own deadlines. */
  timeout_ms?: number;
}

export interface GatewayFailure {
  /** Host error code such as INVALID_REQUEST or UNAVAILABLE, or null when the transport failed. */
  code?: string | null;
  /** The host's own word on repeating, when it gave one. */
  retryable?: boolean | null;
  retry_after_ms?: number | null;
  /** WebSocket close code, HTTP status of the upgrade or system error (ECONNREFUSED), when the transport failed. */
  close_code?: number | null;
  http_status?: number | null;
  system_code?: string | null;
  /** Our own deadline passed. */
  timed_out?: boolean;
  /** The host was dialled and did not let this service in, for whatever reason: no call was made. */
  unconnected?: boolean;
  /** The address is not one this service may dial (GATEWAY_ALLOWED_HOSTS). */
  refused_address?: boolean;
  details?: unknown;
}

/** A gateway call failed. `message` is the host's text, cleaned, without any token (contract gateways.md §6). */
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
}
