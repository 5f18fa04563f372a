import { randomUUID } from "node:crypto";
import { type EventType, type NewEvent, recordLateEvent } from "../../activity/activity.ts";
import type { Context } from "../../context.ts";
import { DomainError } from "../../errors.ts";
import { GatewayError } from "../../gateway/client.ts";
import { within } from "../../gateway/deadline.ts";
import { toGatewayMessage } from "../../gateway/failure.ts";
import { type Host, openHost } from "../../gateway/host.ts";
import { trackingReach } from "../../gateway/reach.ts";
import { COORDINATION_RETRY, type RetryPolicy } from "../../gateway/retry.ts";
import { type SessionMessage, sendMessage } from "../../gateway/session.ts";
import { type GatewayRow, toTarget } from "../../gateway/target.ts";

/**
 * For everything that one request asks of a host. API Gateway gives up after 29 s, and then nobody learns why: the 45 s of
 * contract gateways.md §7 hold only where nothing cuts earlier, and there is one behaviour everywhere.
 */
export const LIMIT_MS = 25_000;
/** No attempt begins in the last part of it, so that it usually ends with a host's own words. */
const LAST_ATTEMPT_MS = 5_000;

/**
 * Works on a host while somebody waits, patient with one that is away for a moment, and keeps the gateway's state true to
 * the outcome. Outside any transaction. Rejects with a GatewayError, at the latest when the time is up.
 */
export async function atHost<T>(
  ctx: Context,
  gateway: GatewayRow,
  work: (host: Host) => Promise<T>,
  limit_ms: number = LIMIT_MS,
): Promise<T> {
  const over = new AbortController();
  const deadline = performance.now() + Math.max(0, limit_ms - LAST_ATTEMPT_MS);
  const policy: RetryPolicy = {
    ...COORDINATION_RETRY,
    /** What is left for further attempts. */
    get total_ms() {
      return Math.max(0, deadline - performance.now());
    },
  };
  async function calls(): Promise<T> {
    const host = await openHost(ctx, { id: gateway.id, target: toTarget(ctx, gateway) }, policy, { signal: over.signal });
    return work(host);
  }
  try {
    return await trackingReach(ctx, gateway, () => within(calls(), limit_ms, "answer"));
  } finally {
    over.abort();
  }
}

/** A gateway that texts can be sent to. */
export function requireUsable(gateway: GatewayRow | null | undefined): asserts gateway is GatewayRow {
  if (!gateway) throw new DomainError("invalid", "Board gateway_id is invalid");
  if (!gateway.url.trim()) throw new DomainError("invalid", "Gateway url is required");
}

/** The session of an agent that is to be written to, or looked into. */
export function sessionOf({ openclaw_session_id }: { openclaw_session_id: string | null }): string {
  if (!openclaw_session_id) throw new DomainError("invalid", "Target agent has no session");
  return openclaw_session_id;
}

/** Sends one text; repeats of it have one key, so that it arrives once. Rejects with a GatewayError. */
export function sendAtHost(ctx: Context, host: Host, message: Omit<SessionMessage, "idempotency_key">, key = randomUUID()) {
  const idempotency_key = `coordination-${key}`;
  return host.repeat("sending the message", () => sendMessage(ctx.gateways, host.target, { ...message, idempotency_key }));
}

/** How an attempt to say something is told of. */
export interface Report {
  sent: EventType;
  failed: EventType;
  /** What was to be done, as in "Nudge to Ann". */
  what: string;
  about: Omit<NewEvent, "message">;
  /** Beginning of the text that the caller is told of a failure. */
  prefix: string;
}

/** Sends one text and records how it went. Throws `unavailable` when the host did not take it. */
export async function dispatch(
  ctx: Context,
  gateway: GatewayRow,
  message: Omit<SessionMessage, "idempotency_key">,
  { sent, failed, what, about, prefix }: Report,
): Promise<void> {
  const failure = await hostFailure(() => atHost(ctx, gateway, (host) => sendAtHost(ctx, host, message)));
  if (!failure) return recordLateEvent(ctx, sent, { ...about, message: `${what} sent.` });
  await recordLateEvent(ctx, failed, { ...about, message: `${what} failed: ${toGatewayMessage(failure)}` });
  throw unavailable(prefix, failure);
}

/** Why a host did not do what it was asked for; null when it did. Throws what is no failure of the host. */
export async function hostFailure(calls: () => Promise<unknown>): Promise<GatewayError | null> {
  try {
    await calls();
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

export const unavailable = (prefix: string, failure: GatewayError) =>
  new DomainError("unavailable", `${prefix} ${toGatewayMessage(failure)}`);
