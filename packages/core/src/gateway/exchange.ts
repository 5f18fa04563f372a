import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import type { GatewayFailure } from "./client.ts";
import { GatewayError } from "./client.ts";
import { missedDeadline } from "./deadline.ts";
import { cleanText } from "./failure.ts";
import type { Frame } from "./frame.ts";
import { parseFrame, record } from "./frame.ts";

/** Requests and answers over one socket. Every promise ends: by answer, by deadline, or when the socket ends. */
export interface Exchange {
  /** Resolves once the socket is open. */
  opened(timeout_ms: number): Promise<void>;
  /** What the first thing holds that the host says, when it is a challenge: a nonce, and the host's time in milliseconds. */
  challenge(timeout_ms: number): Promise<Challenge>;
  /** Resolves with the payload of the answer. A request of more bytes than `limit` is refused here: the host would close the connection. */
  call(method: string, params: object, timeout_ms: number, limit: number): Promise<unknown>;
  /** Ends the socket; whatever still waits fails with `error`. */
  end(error: GatewayError): void;
}

export interface Challenge {
  nonce: string | null;
  ts: number | null;
}

export interface ExchangeEvents {
  event(name: string): void;
  /** Called once. */
  ended(error: GatewayError): void;
}

interface Waiter {
  resolve(value: unknown): void;
  reject(error: GatewayError): void;
}

const OPEN = Symbol("open");
const FIRST_FRAME = Symbol("first frame");
/** How long a host may take to answer our close before the socket is dropped. */
const CLOSE_GRACE_MS = 1_000;

/** Must be given the socket before it opens: the challenge can arrive together with the upgrade. `secret` is kept out of every error. */
export function createExchange(socket: WebSocket, secret: string | null, on: ExchangeEvents): Exchange {
  const waiting = new Map<string | symbol, Waiter>();
  let first: Frame | null = null;
  let over: GatewayError | null = null;

  function end(error: GatewayError): void {
    if (over !== null) return;
    over = error;
    for (const waiter of waiting.values()) waiter.reject(error);
    waiting.clear();
    if (socket.readyState === socket.OPEN) {
      socket.close(1000);
      const drop = setTimeout(() => socket.terminate(), CLOSE_GRACE_MS);
      socket.once("close", () => clearTimeout(drop));
    } else {
      socket.terminate();
    }
    on.ended(error);
  }

  function wait(key: string | symbol, timeout_ms: number, late: () => unknown): Promise<unknown> {
    if (over !== null) return Promise.reject(over);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => {
      waiting.delete(key);
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, timeout_ms);
    waiting.set(key, { resolve, reject });
    return promise.finally(() => clearTimeout(timer));
  }

  function take(key: string | symbol): Waiter | undefined {
    const waiter = waiting.get(key);
    waiting.delete(key);
    return waiter;
  }

  socket.on("message", (data, binary) => {
    const frame = binary ? null : parseFrame(data.toString());
    if (frame === null) return;
    first ??= frame;
    take(FIRST_FRAME)?.resolve(undefined);
    if (frame.kind === "event") on.event(frame.event);
    else if (frame.kind === "answer") take(frame.id)?.resolve(frame.payload);
    else take(frame.id)?.reject(gatewayError(frame.message, frame.failure, secret));
  });
  socket.on("open", () => take(OPEN)?.resolve(undefined));
  socket.on("unexpected-response", (_request, response) => {
    const { statusCode = 0 } = response;
    end(new GatewayError(`Gateway did not accept the connection: HTTP ${statusCode}`, { http_status: statusCode }));
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    const text = error.message || error.code || "unknown error";
    end(gatewayError(`Gateway connection failed: ${text}`, { system_code: error.code ?? null }, secret));
  });
  socket.on("close", (code, reason) =>
    end(gatewayError(`Gateway connection closed: ${code} ${reason}`, { close_code: code }, secret)),
  );

  return {
    end,
    async opened(timeout_ms) {
      await wait(OPEN, timeout_ms, () => {
        throw missedDeadline("accept the connection", timeout_ms);
      });
    },
    async challenge(timeout_ms) {
      if (first === null) await wait(FIRST_FRAME, timeout_ms, () => undefined);
      return toChallenge(first);
    },
    async call(method, params, timeout_ms, limit) {
      const id = randomUUID();
      const frame = JSON.stringify({ type: "req", id, method, params });
      const size = Buffer.byteLength(frame);
      const excess = `${method} is too large: ${size} bytes, the gateway accepts ${limit}.`;
      if (size > limit) throw new GatewayError(excess, { retryable: false });
      const answer = wait(id, timeout_ms, () => {
        throw missedDeadline(`answer ${method}`, timeout_ms);
      });
      if (over === null) socket.send(frame);
      return await answer;
    },
  };
}

function toChallenge(frame: Frame | null): Challenge {
  if (frame?.kind !== "event" || frame.event !== "connect.challenge") return { nonce: null, ts: null };
  const { nonce, ts } = record(frame.payload) ?? {};
  return {
    nonce: typeof nonce === "string" && nonce.trim() !== "" ? nonce : null,
    ts: typeof ts === "number" && ts > 0 ? ts : null,
  };
}

/** A GatewayError that shows the secret nowhere, whatever a host echoes. */
function gatewayError(message: string, failure: GatewayFailure, secret: string | null): GatewayError {
  const hide = (text: string): string => (secret === null ? text : text.replaceAll(secret, "***"));
  const details =
    failure.details === undefined
      ? {}
      : {
          details: JSON.parse(JSON.stringify(failure.details), (_key, value: unknown) =>
            typeof value === "string" ? hide(value) : value,
          ),
        };
  return new GatewayError(cleanText(hide(message)), { ...failure, ...details });
}
