import { randomUUID } from "node:crypto";
import type { Context } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { createDeadline } from "../host/deadline.ts";
import { type Host, openHost } from "../host/open.ts";
import { sendMessage, type UnkeyedMessage } from "../host/session.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import { asGatewayError, type GatewayError } from "../wire/gateway-error.ts";
import { INTERACTIVE_RETRY, withRetry } from "../wire/retry.ts";
import { withTimeout } from "../wire/timeout.ts";
import { trackConnectivity } from "../provisioning/connectivity.ts";
import type { ResolvedHost } from "./resolve-target.ts";
import { type GatewayRow, toTarget } from "@board/core/gateway/target";

/**
 * Limit for all host calls of one request. API Gateway times out after 29 s without a useful error, so the limit is shorter, on all
 * platforms (docs/reference/gateways.md#requests-that-wait-for-a-host).
 */
export const INTERACTIVE_TIMEOUT_MS = 25_000;
/** No attempt begins in the last part of the limit, so that a call usually ends with the host's own error. */
const LAST_ATTEMPT_RESERVE_MS = 5_000;

/** Session calls are retried for 18 s. The last attempt is cut off at 23 s. */
const SESSION_RETRY = { ...INTERACTIVE_RETRY, total_ms: 18_000 };
const SESSION_TIMEOUT_MS = 23_000;

/**
 * Runs work on a host while a request waits for the result. Connecting is retried while the host is unreachable, and the
 * gateway's connectivity is recorded. Must not run inside a transaction. Rejects with a GatewayError, at the latest after
 * `limit_ms`.
 */
export async function withInteractiveHost<T>(
  ctx: Context,
  gateway: GatewayRow,
  work: (host: Host) => Promise<T>,
  limit_ms: number = INTERACTIVE_TIMEOUT_MS,
): Promise<T> {
  const ref = { id: gateway.id, target: toTarget(ctx, gateway) };
  const { policy } = createDeadline(Math.max(0, limit_ms - LAST_ATTEMPT_RESERVE_MS), { base: INTERACTIVE_RETRY });
  const calls = (signal: AbortSignal) => openHost(ctx, ref, policy, { signal }).then(work);
  return await trackConnectivity(ctx, gateway, () => withAbortingTimeout(calls, limit_ms, "answer"));
}

/**
 * Calls a host for a session request. The whole of `work` is retried while the host is unreachable, so a chat.send in `work` must
 * use the same idempotency key in each attempt. `step` names the work in error texts. Throws `unavailable` when the host fails.
 */
export async function callInteractively<T>(ctx: Context, host: ResolvedHost, step: string, work: () => Promise<T>): Promise<T> {
  const calls = (signal: AbortSignal) => withRetry(SESSION_RETRY, work, { step, signal });
  const callInTime = () => withAbortingTimeout(calls, SESSION_TIMEOUT_MS, `answer ${step}`);
  try {
    // If the request itself contains parts of the connection, a failure says nothing about a stored gateway.
    return await (host.stored ? trackConnectivity(ctx, host.stored, callInTime) : callInTime());
  } catch (error) {
    throw toUnavailable("Gateway session request failed:", asGatewayError(error));
  }
}

/** Aborts the calls and their retries when they do not end within `timeout_ms`. */
async function withAbortingTimeout<T>(calls: (signal: AbortSignal) => Promise<T>, timeout_ms: number, what: string): Promise<T> {
  const controller = new AbortController();
  try {
    return await withTimeout(calls(controller.signal), timeout_ms, what);
  } finally {
    controller.abort();
  }
}

/** Sends one message. Retries use the same idempotency key, so the message arrives once. Rejects with a GatewayError. */
export function sendOnHost(ctx: Context, host: Host, message: UnkeyedMessage, key = randomUUID()) {
  const idempotency_key = `coordination-${key}`;
  return host.retry("sending the message", () => sendMessage(ctx.gateways, host.target, { ...message, idempotency_key }));
}

/** Creates the error that tells a caller that the host failed. `prefix` names the operation. */
export const toUnavailable = (prefix: string, failure: GatewayError): DomainError =>
  new DomainError("unavailable", `${prefix} ${toGatewayMessage(failure)}`);
