/** Faults of a host by chance, as long as they are let go on. */
import type { FakeGateway } from "../../../packages/local/src/fake-gateway/server.ts";
import type { Random } from "./random.ts";

/** How likely a call meets each of them. */
const ODDS = { refused: 0.02, cut: 0.004, lost: 0.002, delayed: 0.05 };
const LONGEST_DELAY_MS = 40;

export interface Weather {
  /** How often each fault has struck. */
  readonly counts: { refused: number; cut: number; lost: number; delayed: number };
}

/**
 * Refuses calls and connections, cuts sockets in the middle of calls (which fails whatever else is under way on them), takes
 * messages and restarts without an answer, and answers late.
 */
export function makeWeather(host: FakeGateway, random: Random): Weather {
  const counts = { refused: 0, cut: 0, lost: 0, delayed: 0 };
  const strikes = (fault: keyof typeof counts): boolean => {
    const struck = random() < ODDS[fault];
    if (struck) counts[fault] += 1;
    return struck;
  };
  const byChance = (value: () => number): Record<string, number> =>
    new Proxy<Record<string, number>>({}, { get: value, set: () => true });

  host.faults.cuts = byChance(() => Number(strikes("cut")));
  host.faults.lost_answers = byChance(() => Number(strikes("lost")));
  host.faults.delays_ms = byChance(() => (strikes("delayed") ? random() * LONGEST_DELAY_MS : 0));
  for (const method of ["connect", "sessions.patch", "chat.send"])
    host.faults.failures.push({
      method,
      error: { code: "UNAVAILABLE", message: "busy just now", retryable: true },
      get times() {
        return Number(strikes("refused"));
      },
      set times(_left) {},
    });
  return { counts };
}
