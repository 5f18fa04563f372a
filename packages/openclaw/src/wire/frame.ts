import { readFrameHead } from "./frame-head.ts";
import type { GatewayFailure } from "./gateway-error.ts";

/**
 * An incoming frame. `message` and `failure` hold the host's raw text. Nothing is nested deeper than `frame-head.ts` permits.
 * `refused` is an awaited answer that is not safe to parse, and `other` is an answer that nobody awaits.
 */
export type Frame =
  | { kind: "event"; event: string; payload: unknown }
  | { kind: "response"; id: string; payload: unknown }
  | { kind: "error"; id: string; message: string; failure: GatewayFailure }
  | { kind: "refused"; id: string; problem: string }
  | { kind: "other" };

export const CHALLENGE_EVENT = "connect.challenge";
/** Largest challenge whose payload is read, in bytes. */
const CHALLENGE_LIMIT = 4_096;

/**
 * Parses one text frame, including the older `{id, result}` and `{id, error}`. Returns null for anything else: a host may send more
 * than this client understands, and no message may break the connection. Only awaited answers and the challenge are parsed as JSON,
 * since a host may send other frames of any size.
 */
export function parseFrame(bytes: Buffer, isAwaited: (id: string) => boolean): Frame | null {
  const { type, event, id, problem } = readFrameHead(bytes);
  if (type === "event") {
    const isChallenge = event === CHALLENGE_EVENT && bytes.length <= CHALLENGE_LIMIT;
    return event === null ? null : { kind: "event", event, payload: isChallenge ? parseObject(bytes)?.payload : undefined };
  }
  if (id === null) return null;
  if (!isAwaited(id)) return { kind: "other" };
  return problem === null ? toAnswer(parseObject(bytes)) : { kind: "refused", id, problem };
}

function toAnswer(frame: Record<string, unknown> | null): Frame | null {
  if (frame === null || typeof frame.id !== "string") return null;
  if (frame.type === "res")
    return frame.ok === false ? toErrorFrame(frame.id, frame.error) : { kind: "response", id: frame.id, payload: frame.payload };
  if (frame.type !== undefined) return null;
  if (asRecord(frame.error) !== null) return toErrorFrame(frame.id, frame.error);
  return "result" in frame ? { kind: "response", id: frame.id, payload: frame.result } : null;
}

function toErrorFrame(id: string, value: unknown): Frame {
  const error = asRecord(value) ?? {};
  const delay = error.retryAfterMs;
  return {
    kind: "error",
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

function parseObject(bytes: Buffer): Record<string, unknown> | null {
  try {
    return asRecord(JSON.parse(bytes.toString()));
  } catch {
    return null;
  }
}

/** Returns the value if it is an object, else null, because data from hosts may have any shape. */
export function asRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}
