import type { Context } from "../context.ts";
import type { CallOptions, GatewayHello, GatewayTarget } from "./client.ts";
import { dialectOf, type HostDialect } from "./dialect.ts";
import { type RetryPolicy, withRetry } from "./retry.ts";
import { busy, isBusy, takeTurn } from "./turn.ts";

/** A host that answered, and the patience with which it is worked on. */
export interface Host {
  readonly gateway_id: string;
  readonly target: GatewayTarget;
  readonly hello: GatewayHello;
  readonly dialect: HostDialect;
  readonly policy: RetryPolicy;
  /** One RPC, repeated while the host is away, as the policy allows. `step` names it in error texts. Rejects with a GatewayError. */
  call(method: string, params: object, options?: CallOptions & { step?: string }): Promise<unknown>;
  /** One RPC, tried once: for steps that look at the host again before they repeat. */
  callOnce(method: string, params: object): Promise<unknown>;
  /** A whole step, repeated in the same way. */
  repeat<T>(step: string, work: () => Promise<T>): Promise<T>;
  /**
   * Work that writes to the host's configuration, alone on this gateway over all processes and spaced. Not reentrant. What
   * may take long, such as waiting for a host that is away, belongs around it: others wait for its end.
   */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

export interface HostOptions {
  signal?: AbortSignal;
  /** Milliseconds in which the host must answer for the first time; by default the policy's. */
  first_contact_ms?: number;
}

/** An attempt at the first contact gets this long even when the time for it is nearly up: its own error tells more than ours. */
const LEAST_CONTACT_MS = 1_000;

const CONFIG_WRITES = new Set(["agents.create", "agents.update", "agents.delete", "config.patch"]);

/** Connects to a host. Rejects with a GatewayError when it does not let this service in, in time. */
export async function openHost(
  ctx: Context,
  { id: gateway_id, target }: { id: string; target: GatewayTarget },
  policy: RetryPolicy,
  { signal, first_contact_ms = policy.total_ms }: HostOptions = {},
): Promise<Host> {
  async function repeat<T>(step: string, work: () => Promise<T>, total_ms = policy.total_ms): Promise<T> {
    try {
      return await withRetry({ ...policy, total_ms }, work, { step, ...(signal ? { signal } : {}) });
    } catch (error) {
      // The host was there all the time.
      throw isBusy(error) ? busy(total_ms) : error;
    }
  }

  const deadline = performance.now() + first_contact_ms;
  const hello = await repeat(
    "connect",
    () => ctx.gateways.hello(target, { timeout_ms: Math.max(LEAST_CONTACT_MS, deadline - performance.now()) }),
    first_contact_ms,
  );
  const dialect = dialectOf(hello);
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
    repeat,
    callOnce,
    call: (method, params, { step = method, ...options } = {}) => repeat(step, () => callOnce(method, params, options)),
    async inTurn(work) {
      const turn = await takeTurn(ctx, gateway_id, { wait_ms: policy.total_ms, signal });
      const before = writes;
      try {
        return await work();
      } finally {
        // Whoever only looked keeps nobody waiting.
        await turn.release(writes > before ? dialect.config_write_spacing_ms : 0);
      }
    },
  };
}
