import type { GatewayFailure } from "./client.ts";

/** An incoming frame that means something to this client; `failure` carries the host's text uncleaned. */
export type Frame =
  | { kind: "event"; event: string; payload: unknown }
  | { kind: "answer"; id: string; payload: unknown }
  | { kind: "refusal"; id: string; message: string; failure: GatewayFailure };

/**
 * Reads one text frame, the older `{id, result}` and `{id, error}` included. Null for anything else:
 * a host may say more than this client knows, and nothing it says may break the connection.
 */
export function parseFrame(text: string): Frame | null {
  const frame = record(parseJson(text));
  if (frame === null) return null;
  if (frame.type === "event")
    return typeof frame.event === "string" ? { kind: "event", event: frame.event, payload: frame.payload } : null;
  if (typeof frame.id !== "string") return null;
  if (frame.type === "res")
    return frame.ok === false ? refusal(frame.id, frame.error) : { kind: "answer", id: frame.id, payload: frame.payload };
  if (frame.type !== undefined) return null;
  if (record(frame.error) !== null) return refusal(frame.id, frame.error);
  return "result" in frame ? { kind: "answer", id: frame.id, payload: frame.result } : null;
}

function refusal(id: string, value: unknown): Frame {
  const error = record(value) ?? {};
  const delay = error.retryAfterMs;
  return {
    kind: "refusal",
    id,
    message: typeof error.message === "string" ? error.message : "",
    failure: {
      code: typeof error.code === "string" ? error.code : null,
      retryable: typeof error.retryable === "boolean" ? error.retryable : null,
      retry_after_ms: typeof delay === "number" && Number.isFinite(delay) && delay >= 0 ? delay : null,
      ...(error.details === undefined ? {} : { details: error.details }),
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The value as an object to look into, or null: what hosts send is never trusted to have a shape. */
export function record(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}
