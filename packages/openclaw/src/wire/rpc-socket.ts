import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import { GatewayError, type GatewayFailure } from "./gateway-error.ts";
import { timeoutError } from "./timeout.ts";
import { cleanText } from "./failure.ts";
import { asRecord, CHALLENGE_EVENT, type Frame, parseFrame } from "./frame.ts";

/** Requests and responses over one socket. Every promise is settled by a response, a deadline or the end of the socket. */
export interface RpcSocket {
  /** Resolves once the socket is open. */
  waitForOpen(timeout_ms: number): Promise<void>;
  /**
   * Resolves with the host's challenge. The challenge is empty when the first frame is something else or no frame arrives in time.
   */
  waitForChallenge(timeout_ms: number): Promise<Challenge>;
  /** Resolves with the response's payload. Rejects a request of more than `limit` bytes: the host would close the connection. */
  call(method: string, params: object, timeout_ms: number, limit: number): Promise<unknown>;
  /** Closes the socket. Every pending promise rejects with `error`. */
  close(error: GatewayError): void;
}

interface Challenge {
  nonce: string | null;
  /** The host's time in milliseconds. */
  ts: number | null;
}

interface RpcSocketEvents {
  onEvent(name: string): void;
  /** Called once. */
  onClosed(error: GatewayError): void;
}

/** A promise that waits for a response, or for one of the two events below. */
interface PendingReply {
  resolve(value: unknown): void;
  reject(error: GatewayError): void;
}

/** Keys of pending replies that have no request id: one waits for the open socket, the other for the first frame. */
const OPEN = Symbol("open");
const FIRST_FRAME = Symbol("first frame");
/** How long a host may take to complete the closing handshake before the socket is dropped. */
const CLOSE_GRACE_MS = 1_000;
/** Longest error details that are kept, in characters of JSON. A refused configuration lists its problems there. */
const DETAILS_LIMIT = 65_536;

/**
 * Creates the RPC layer. The socket must not be open yet, because the challenge can arrive together with the upgrade. `secret` is
 * redacted in every error.
 */
export function createRpcSocket(socket: WebSocket, secret: string | null, on: RpcSocketEvents): RpcSocket {
  const pending = new Map<string | symbol, PendingReply>();
  let firstFrame: Frame | null = null;
  let closeError: GatewayError | null = null;

  function close(error: GatewayError): void {
    if (closeError !== null) return;
    closeError = error;
    for (const reply of pending.values()) reply.reject(error);
    pending.clear();
    if (socket.readyState === socket.OPEN) {
      socket.close(1000);
      const drop = setTimeout(() => socket.terminate(), CLOSE_GRACE_MS);
      socket.once("close", () => clearTimeout(drop));
    } else {
      socket.terminate();
    }
    on.onClosed(error);
  }

  function waitFor(key: string | symbol, timeout_ms: number, onTimeout: () => unknown): Promise<unknown> {
    if (closeError !== null) return Promise.reject(closeError);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => {
      pending.delete(key);
      try {
        resolve(onTimeout());
      } catch (error) {
        reject(error);
      }
    }, timeout_ms);
    pending.set(key, { resolve, reject });
    return promise.finally(() => clearTimeout(timer));
  }

  function takePending(key: string | symbol): PendingReply | undefined {
    const reply = pending.get(key);
    pending.delete(key);
    return reply;
  }

  function receive(bytes: Buffer): void {
    const frame = parseFrame(bytes, (id) => pending.has(id));
    if (frame === null) return;
    firstFrame ??= frame;
    takePending(FIRST_FRAME)?.resolve(undefined);
    if (frame.kind === "event") on.onEvent(frame.event);
    else if (frame.kind === "response") takePending(frame.id)?.resolve(frame.payload);
    else if (frame.kind === "error") takePending(frame.id)?.reject(toGatewayError(frame.message, frame.failure, secret));
    else if (frame.kind === "refused")
      takePending(frame.id)?.reject(new GatewayError(`The gateway's answer ${frame.problem}.`, { retryable: false }));
  }

  socket.on("message", (data, binary) => {
    try {
      // With the default `binaryType`, the data is always one Buffer.
      if (!binary) receive(data as Buffer);
    } catch (error) {
      // An error thrown here would end the process.
      close(toGatewayError(`Gateway message cannot be read: ${String(error)}`, { retryable: false }, secret));
    }
  });
  socket.on("open", () => takePending(OPEN)?.resolve(undefined));
  socket.on("unexpected-response", (_request, response) => {
    const { statusCode = 0 } = response;
    close(new GatewayError(`Gateway did not accept the connection: HTTP ${statusCode}`, { http_status: statusCode }));
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    const text = error.message || error.code || "unknown error";
    close(toGatewayError(`Gateway connection failed: ${text}`, { system_code: error.code ?? null }, secret));
  });
  socket.on("close", (code, reason) =>
    close(toGatewayError(`Gateway connection closed: ${code} ${reason}`, { close_code: code }, secret)),
  );

  return {
    close,
    async waitForOpen(timeout_ms) {
      await waitFor(OPEN, timeout_ms, () => {
        throw timeoutError("accept the connection", timeout_ms);
      });
    },
    async waitForChallenge(timeout_ms) {
      if (firstFrame === null) await waitFor(FIRST_FRAME, timeout_ms, () => undefined);
      return toChallenge(firstFrame);
    },
    async call(method, params, timeout_ms, limit) {
      const id = randomUUID();
      const frame = JSON.stringify({ type: "req", id, method, params });
      const size = Buffer.byteLength(frame);
      const excess = `${method} is too large: ${size} bytes, the gateway accepts ${limit}.`;
      if (size > limit) throw new GatewayError(excess, { retryable: false });
      const response = waitFor(id, timeout_ms, () => {
        throw timeoutError(`answer ${method}`, timeout_ms);
      });
      if (closeError === null) socket.send(frame);
      return await response;
    },
  };
}

function toChallenge(frame: Frame | null): Challenge {
  if (frame?.kind !== "event" || frame.event !== CHALLENGE_EVENT) return { nonce: null, ts: null };
  const { nonce, ts } = asRecord(frame.payload) ?? {};
  return {
    nonce: typeof nonce === "string" && nonce.trim() !== "" ? nonce : null,
    ts: typeof ts === "number" && ts > 0 ? ts : null,
  };
}

/** Creates a GatewayError in which the secret is redacted, even if the host echoes it. */
function toGatewayError(message: string, failure: GatewayFailure, secret: string | null): GatewayError {
  const redact = (text: string): string => (secret === null ? text : text.replaceAll(secret, "***"));
  const { details, ...others } = failure;
  return new GatewayError(cleanText(redact(message)), { ...others, ...redactDetails(details, redact) });
}

/** Omits the details when there are none or when they are longer than the limit. */
function redactDetails(details: unknown, redact: (text: string) => string): { details?: unknown } {
  const text = details === undefined ? "" : JSON.stringify(details);
  if (text === "" || text.length > DETAILS_LIMIT) return {};
  return { details: JSON.parse(text, (_key, value: unknown) => (typeof value === "string" ? redact(value) : value)) };
}
