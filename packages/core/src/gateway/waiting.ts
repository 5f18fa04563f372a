import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { GatewayError } from "./client.ts";
import { within } from "./deadline.ts";
import { toGatewayMessage } from "./failure.ts";
import { trackingReach } from "./reach.ts";
import type { NamedHost } from "./resolve-target.ts";
import { COORDINATION_RETRY, withRetry } from "./retry.ts";

/**
 * As for everybody who waits, but shorter: API Gateway gives up after 29 s, and then nobody learns why. Repeated for
 * 18 s; the last attempt is cut at 23 s in all.
 */
const RETRY = { ...COORDINATION_RETRY, total_ms: 18_000 };
const LIMIT_MS = 23_000;

/**
 * Calls to a host that a request waits for, repeated while the host is away. All of `work` is repeated, so that a
 * chat.send in it must keep its key. `step` names it in error texts. Rejects with `unavailable`, or with what is no
 * failure of the host.
 */
export async function requestSession<T>(ctx: Context, host: NamedHost, step: string, work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const calls = () => within(withRetry(RETRY, work, { step, signal: over.signal }), LIMIT_MS, `answer ${step}`);
  try {
    // What a caller made up, wholly or in part, tells nothing about a saved gateway.
    return await (host.saved ? trackingReach(ctx, host.saved, calls) : calls());
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new DomainError("unavailable", `Gateway session request failed: ${toGatewayMessage(error)}`);
  } finally {
    over.abort();
  }
}
