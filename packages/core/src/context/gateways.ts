/** How to reach one gateway. The token is plain text, so a target must stay in memory. */
export interface GatewayTarget {
  url: string;
  token: string | null;
  disable_device_pairing: boolean;
  allow_insecure_tls: boolean;
  /** Whose gateway it is: look-ups of its name count for this organization. Targets in old jobs do not say it. */
  organization_id?: string | undefined;
}

/**
 * What a host reports when it accepts a connection. `version` is the host's text, `dev` for a development build, or null;
 * `version.ts` checks it.
 */
export interface GatewayHello {
  protocol: number;
  version: string | null;
  methods: readonly string[];
  events: readonly string[];
  /** What this connection may do; null when the host does not report it. */
  scopes: readonly string[] | null;
  /** How far the host's clock is ahead of this machine's; null when the host does not report its time. */
  clock_ahead_ms: number | null;
  max_payload: number;
}

/**
 * The port through which the domain talks to OpenClaw gateways; `websocket.ts` implements it.
 * Every call has a deadline, so it always ends with a result or a GatewayError.
 */
export interface Gateways {
  /** Connects if no connection is open and returns the host's hello; `timeout_ms` bounds the whole wait. */
  hello(target: GatewayTarget, options?: CallOptions): Promise<GatewayHello>;
  /** Sends one RPC. Resolves with the payload, which may be null; rejects with a GatewayError. */
  request(target: GatewayTarget, method: string, params: object, options?: CallOptions): Promise<unknown>;
  /** Closes every connection; pending calls fail. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** Milliseconds for this call alone, from request to response; connecting has its own deadlines. */
  timeout_ms?: number;
}
