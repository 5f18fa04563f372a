import type { Context } from "@board/core/context/context";
import type { CallOptions, GatewayHello, GatewayTarget } from "@board/core/context/gateways";
import { selectDialect, type HostDialect } from "../wire/dialect.ts";
import { type RetryPolicy, withRetry } from "../wire/retry.ts";
import { GatewayError } from "../wire/gateway-error.ts";
import { createConfigLockBusy, acquireConfigLock } from "./config-lock.ts";

/** A host that accepted a connection, with the retry policy for the work on it. */
export interface Host {
  readonly gateway_id: string;
  readonly target: GatewayTarget;
  readonly hello: GatewayHello;
  readonly dialect: HostDialect;
  readonly policy: RetryPolicy;
  /** Sends one RPC and retries it while the host is unreachable. `step` names it in error texts. Rejects with a GatewayError. */
  call(method: string, params: object, options?: CallOptions & { step?: string }): Promise<unknown>;
  /** Sends one RPC without retry, for steps that read the host's state again before they retry. */
  callOnce(method: string, params: object): Promise<unknown>;
  /** Retries a whole step while the host is unreachable. */
  retry<T>(step: string, work: () => Promise<T>): Promise<T>;
  /**
   * Runs work that writes to the host's configuration while no other process does, with a pause between writes. Not
   * reentrant. Retry around the lock and not inside it, because other writers wait for its release.
   */
  withConfigLock<T>(work: () => Promise<T>): Promise<T>;
}

export interface HostOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for the first contact; by default the policy's budget. */
  connect_ms?: number;
}

/** Each attempt at the first contact gets at least this much time, because the host's own error says more than a timeout. */
const MIN_CONNECT_MS = 1_000;

const CONFIG_WRITES = new Set(["agents.create", "agents.update", "agents.delete", "config.patch"]);

/** The gateway whose host is opened. A cleanup job may use it after the gateway's row was deleted. */
interface HostRef {
  id: string;
  target: GatewayTarget;
}

/** Connects to a host and retries the first contact too. Rejects with a GatewayError. */
export async function openHost(
  ctx: Context,
  { id: gateway_id, target }: HostRef,
  policy: RetryPolicy,
  { signal, connect_ms = policy.total_ms }: HostOptions = {},
): Promise<Host> {
  async function retry<T>(step: string, work: () => Promise<T>, total_ms = policy.total_ms): Promise<T> {
    try {
      // The copy fixes `total_ms`: the time that the deadline has left now is the budget of this call.
      return await withRetry({ ...policy, total_ms }, work, { step, ...(signal ? { signal } : {}) });
    } catch (error) {
      // The host was reachable, so the text must not call it unreachable.
      throw error instanceof GatewayError && error.is_waiting ? createConfigLockBusy(total_ms) : error;
    }
  }

  const deadline = performance.now() + connect_ms;
  const hello = await retry(
    "connect",
    () => ctx.gateways.hello(target, { timeout_ms: Math.max(MIN_CONNECT_MS, deadline - performance.now()) }),
    connect_ms,
  );
  const dialect = selectDialect(hello);
  let writes = 0;

  function callOnce(method: string, params: object, options?: CallOptions): Promise<unknown> {
    if (CONFIG_WRITES.has(method)) writes += 1;
    return ctx.gateways.request(target, method, params, options);
  }

  return {
    gateway_id,
    target,
    hello,
    dialect,
    policy,
    retry,
    callOnce,
    call: (method, params, { step = method, ...options } = {}) => retry(step, () => callOnce(method, params, options)),
    async withConfigLock(work) {
      const lock = await acquireConfigLock(ctx, gateway_id, { wait_ms: policy.total_ms, signal });
      const writes_before = writes;
      try {
        return await work();
      } finally {
        // The next holder has to pause only if this holder has written.
        await lock.release(writes > writes_before ? dialect.config_write_spacing_ms : 0);
      }
    },
  };
}

/** Limit for a job's first contact with a host. It is short, because a waiting job occupies a worker and is tried again later. */
export const FIRST_CONTACT_MS = 5_000;

/** Connects to a host for a job, without a retry. The connection stays open, so later calls need no second handshake. */
export const contactHost = ({ gateways }: Pick<Context, "gateways">, target: GatewayTarget): Promise<GatewayHello> =>
  gateways.hello(target, { timeout_ms: FIRST_CONTACT_MS });

/**
 * Connects to a host without a retry of the first contact, for jobs: when the host is unreachable, the job's next attempt
 * tries again. Once connected, calls are retried as the policy allows.
 */
export async function openReachableHost(ctx: Context, gateway: HostRef, policy: RetryPolicy): Promise<Host> {
  await contactHost(ctx, gateway.target);
  return openHost(ctx, gateway, policy);
}
