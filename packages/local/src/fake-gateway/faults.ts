import type { WireError } from "./refusal.ts";

/** What goes wrong, switchable while the gateway runs. A method's name keys the per-method faults; each is used up by its count. */
export interface Faults {
  /** Accepts the socket and then never says a word. */
  silent_handshake: boolean;
  /** Starts without a challenge, as a proxy in front of a host can. */
  no_challenge: boolean;
  /** Answers every upgrade with this HTTP status instead; 3xx come with a Location. */
  upgrade_status: number | null;
  /** Restart after configuration writes, when and as this release does it. */
  restart_after_writes: boolean;
  /** Milliseconds an answer is held back after its work is done; Infinity is never. */
  delays_ms: Record<string, number>;
  /** How many answers are lost: the work is done and the host restarts instead of answering. */
  lost_answers: Record<string, number>;
  /** How many calls cut the socket without a close frame (1006), before any work. */
  cuts: Record<string, number>;
  failures: { method: string; error: WireError; times: number }[];
  /** Milliseconds in which a created agent is `not found` for other agents.* calls. */
  unknown_after_create_ms: number;
  /** Milliseconds from a message to the end of the run that it starts. */
  run_ms: number;
  /** Milliseconds that an aborted run goes on for; Infinity is to its own end. */
  abort_ms: number;
  /** config.patch calls per 60 s and device, failed ones counted; undefined takes the release's own limit. */
  patch_limit: number | null | undefined;
  /** Keys of agent entries and heartbeats this host refuses as unrecognized. */
  refused_config_keys: string[];
}

export function noFaults(): Faults {
  return {
    silent_handshake: false,
    no_challenge: false,
    upgrade_status: null,
    restart_after_writes: false,
    delays_ms: {},
    lost_answers: {},
    cuts: {},
    failures: [],
    unknown_after_create_ms: 0,
    run_ms: 0,
    abort_ms: 0,
    patch_limit: undefined,
    refused_config_keys: [],
  };
}

/** Takes one of what is left of a counted fault; false when there is none. */
export function takeOne(counts: Record<string, number>, method: string): boolean {
  const left = counts[method] ?? 0;
  if (left > 0) counts[method] = left - 1;
  return left > 0;
}

/** The error this call was told to fail with, if any. */
export function takeFailure(faults: Faults, method: string): WireError | null {
  const failure = faults.failures.find((entry) => entry.method === method && entry.times > 0);
  if (failure === undefined) return null;
  failure.times -= 1;
  return failure.error;
}
