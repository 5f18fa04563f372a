/** How to reach a gateway. The token is in plain text here, so keep a target in memory only. */
export interface GatewayTarget {
  url: string;
  token: string | null;
  disable_device_pairing: boolean;
  allow_insecure_tls: boolean;
  /**
   * Resolving the host name counts toward the look-up limit of this organization. Targets in old jobs do not have this field.
   */
  organization_id?: string | undefined;
}

/**
 * What a host reports when it accepts a connection. `version` is the text that the host sent, `dev` for a development build, or
 * null. `version.ts` parses this text.
 */
export interface GatewayHello {
  protocol: number;
  version: string | null;
  methods: readonly string[];
  events: readonly string[];
  /** What this connection may do; null if the host does not report it. */
  scopes: readonly string[] | null;
  /** How many milliseconds the host's clock is ahead of this machine's; null if the host does not report its time. */
  clock_ahead_ms: number | null;
  max_payload: number;
}

/**
 * The interface through which core talks to OpenClaw gateways. `websocket.ts` implements it. Every call has a deadline, so it
 * always ends with a result or a GatewayError.
 */
export interface Gateways {
  /** Connects if no connection is open, and returns the host's hello. `timeout_ms` limits the whole wait. */
  hello(target: GatewayTarget, options?: CallOptions): Promise<GatewayHello>;
  /** Sends a request. Resolves with the payload, which may be null; rejects with a GatewayError. */
  request(target: GatewayTarget, method: string, params: object, options?: CallOptions): Promise<unknown>;
  /** Closes every connection. Pending calls fail. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** Milliseconds from the request to the response. Establishing the connection has its own deadline. */
  timeout_ms?: number;
}
