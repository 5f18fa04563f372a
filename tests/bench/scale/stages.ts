/** A request, a job or a statement: when it arrives, and how many seconds a server works on it. */
export interface Arrival {
  at: number;
  work: number;
}

/** The result of the arrivals at one stage. */
export interface Outcome {
  /** The second at which each accepted arrival was done, in the order of arrival. */
  departures: number[];
  waits: number[];
  refused: number;
  /** The average share of the servers that were busy. */
  utilization: number;
}

const NOTHING: Outcome = { departures: [], waits: [], refused: 0, utilization: 0 };

/**
 * Simulates as many servers as `places`, each with one arrival at a time, first come first served (the recursion of Kiefer and
 * Wolfowitz). Without `queues`, an arrival that finds no free server is refused, as Lambda refuses calls above a concurrency limit.
 */
export function serve(arrivals: readonly Arrival[], places: number, { queues }: { queues: boolean }): Outcome {
  if (arrivals.length === 0) return NOTHING;
  const free_at = new MinHeap(places);
  const outcome: Outcome = { departures: [], waits: [], refused: 0, utilization: 0 };
  let occupied = 0;
  for (const { at, work } of arrivals) {
    const start = Math.max(at, free_at.min);
    if (start > at && !queues) {
      outcome.refused++;
      continue;
    }
    free_at.replaceMin(start + work);
    occupied += work;
    outcome.waits.push(start - at);
    outcome.departures.push(start + work);
  }
  outcome.utilization = occupied / (places * (arrivals.at(-1)!.at - arrivals[0]!.at));
  return outcome;
}

/** Returns the arrivals that pass a token bucket, like API Gateway's throttle: `rate` tokens a second, `burst` at most. */
export function throttle<T extends Arrival>(arrivals: readonly T[], rate: number, burst: number): T[] {
  let tokens = burst;
  let last = 0;
  return arrivals.filter(({ at }) => {
    tokens = Math.min(burst, tokens + (at - last) * rate);
    last = at;
    if (tokens < 1) return false;
    tokens--;
    return true;
  });
}

/** The times at which servers become free, with the earliest first. */
class MinHeap {
  readonly #times: Float64Array;
  constructor(size: number) {
    this.#times = new Float64Array(size);
  }

  get min(): number {
    return this.#times[0]!;
  }

  replaceMin(time: number): void {
    const times = this.#times;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= times.length) break;
      if (child + 1 < times.length && times[child + 1]! < times[child]!) child++;
      if (times[child]! >= time) break;
      times[at] = times[child]!;
      at = child;
    }
    times[at] = time;
  }
}
