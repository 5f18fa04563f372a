/** Injects random faults into a host until it is stopped. */
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import type { Random } from "../load/random.ts";

/** The probability of each fault per call. */
const FAULT_RATES = { refused: 0.02, cut: 0.004, lost: 0.002, delayed: 0.05 };
const MAX_DELAY_MS = 40;

export interface FaultInjection {
  /** How often each fault occurred. */
  readonly counts: { refused: number; cut: number; lost: number; delayed: number };
}

/**
 * Refuses calls and connections, cuts sockets during calls (which fails every pending call on them), accepts messages but
 * restarts without an answer, and delays answers.
 */
export function injectFaults(host: FakeGateway, random: Random): FaultInjection {
  const counts = { refused: 0, cut: 0, lost: 0, delayed: 0 };
  const occurs = (fault: keyof typeof counts): boolean => {
    const struck = random() < FAULT_RATES[fault];
    if (struck) counts[fault] += 1;
    return struck;
  };
  const atRandom = (value: () => number): Record<string, number> =>
    new Proxy<Record<string, number>>({}, { get: value, set: () => true });

  host.faults.dropped_connections = atRandom(() => Number(occurs("cut")));
  host.faults.lost_responses = atRandom(() => Number(occurs("lost")));
  host.faults.delays_ms = atRandom(() => (occurs("delayed") ? random() * MAX_DELAY_MS : 0));
  for (const method of ["connect", "sessions.patch", "chat.send"])
    host.faults.failures.push({
      method,
      error: { code: "UNAVAILABLE", message: "busy just now", retryable: true },
      get times() {
        return Number(occurs("refused"));
      },
      set times(_left) {},
    });
  return { counts };
}
