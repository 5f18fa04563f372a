import type { RpcErrorBody } from "./rpc-error.ts";

/** Faults to inject, which can change while the gateway runs. Counted faults are keyed by method and used up one per call. */
export interface Faults {
  /** Accepts the socket, then never sends anything. */
  silent_handshake: boolean;
  /** Sends no challenge, as with some proxies in front of a host. */
  no_challenge: boolean;
  /** Rejects every upgrade with this HTTP status, and with a Location for 3xx. */
  upgrade_status: number | null;
  /** Restarts after configuration writes, as the release does. */
  restart_after_writes: boolean;
  /** Milliseconds by which a response is delayed after the work is done; Infinity for no response. */
  delays_ms: Record<string, number>;
  /** Number of calls whose response is lost: the work is done, then the host restarts instead of responding. */
  lost_responses: Record<string, number>;
  /** Number of calls that drop the connection without a close frame (1006) before any work. */
  dropped_connections: Record<string, number>;
  failures: { method: string; error: RpcErrorBody; times: number }[];
  /** Milliseconds during which other agents.* calls do not find a new agent. */
  unknown_after_create_ms: number;
  /** Milliseconds from a message to the end of the run that it starts. */
  run_ms: number;
  /** Milliseconds for which an aborted run continues; Infinity to let it finish. */
  abort_ms: number;
  /** Limit of config.patch calls per 60 s and device, including failed ones; undefined for the limit of the release. */
  patch_limit: number | null | undefined;
  /** Keys of agent entries and heartbeats that this host rejects as unrecognized. */
  refused_config_keys: string[];
}

export function noFaults(): Faults {
  return {
    silent_handshake: false,
    no_challenge: false,
    upgrade_status: null,
    restart_after_writes: false,
    delays_ms: {},
    lost_responses: {},
    dropped_connections: {},
    failures: [],
    unknown_after_create_ms: 0,
    run_ms: 0,
    abort_ms: 0,
    patch_limit: undefined,
    refused_config_keys: [],
  };
}

/** Uses up one count of a fault and returns true, or returns false if no count is left. */
export function consumeFault(counts: Record<string, number>, method: string): boolean {
  const remaining = counts[method] ?? 0;
  if (remaining > 0) counts[method] = remaining - 1;
  return remaining > 0;
}

/** Returns the injected error of this call, if any. */
export function consumeFailure(faults: Faults, method: string): RpcErrorBody | null {
  const failure = faults.failures.find((entry) => entry.method === method && entry.times > 0);
  if (failure === undefined) return null;
  failure.times -= 1;
  return failure.error;
}
