/** The `error` of an answer as it goes over the wire. */
export interface WireError {
  code: string;
  message: string;
  details?: unknown;
  retryable?: boolean;
  retryAfterMs?: number;
}

/** Thrown by a method to be answered as an error. */
export class Refusal extends Error {
  readonly wire: WireError;
  constructor(message: string, more: Partial<WireError> = {}) {
    super(message);
    this.wire = { code: "INVALID_REQUEST", ...more, message };
  }
}
