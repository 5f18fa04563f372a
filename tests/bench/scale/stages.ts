/** A request, a job or a statement: when it arrives and how long it occupies a place, in seconds. */
export interface Arrival {
  at: number;
  work: number;
}

/** What became of the arrivals at one stage. */
export interface Outcome {
  /** When each accepted arrival left, in the order of arrival. */
  departures: number[];
  waits: number[];
  refused: number;
  /** Share of the places that were occupied on average. */
  utilization: number;
}

const NOTHING: Outcome = { departures: [], waits: [], refused: 0, utilization: 0 };

/**
 * `places` that each serve one arrival at a time, first come first served (the recursion of Kiefer and Wolfowitz). Without
 * `queues`, an arrival that finds no free place is refused, as Lambda refuses one above a concurrency limit.
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

/** A token bucket, like API Gateway's throttle: `rate` tokens a second, `burst` at most. Returns the arrivals that pass. */
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

/** Times at which places become free. */
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
