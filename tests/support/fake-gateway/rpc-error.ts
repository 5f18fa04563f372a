/** The `error` of a response on the wire. */
export interface RpcErrorBody {
  code: string;
  message: string;
  details?: unknown;
  retryable?: boolean;
  retryAfterMs?: number;
}

/** Thrown by a method to respond with an error. */
export class RpcError extends Error {
  readonly body: RpcErrorBody;
  constructor(message: string, more: Partial<RpcErrorBody> = {}) {
    super(message);
    this.body = { code: "INVALID_REQUEST", ...more, message };
  }
}
