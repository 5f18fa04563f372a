import type { Matrix, Trial } from "../support/access-matrix.ts";
import { type Condition, conditionsOf, interceptStatements, weaken } from "../support/weakened.ts";

/** How it shows that a condition is gone: by itself, only when checks in front of it are gone too, or not at all. */
export type Missed = "alone" | "behind" | "never";

export interface Finding {
  name: string;
  missed: Missed;
  /** The request that tells, and what else was gone; null for none. */
  by: string | null;
  /** Operations that send its statement. */
  operations: string[];
}

interface Run {
  outcome: string;
  sent: ReadonlySet<string>;
}
type RunTrial = (trial: Trial, without: readonly Condition[]) => Promise<Run>;

/** A request on its way through the checks in front of a condition: what was taken out for it, and what it then does. */
interface Front extends Run {
  gone: readonly Condition[];
  /** What it does without any condition of a statement, as far as that was tried. */
  without: Map<string, Run>;
}

/** Of each status: more requests than these that come equally far find nothing more. */
const MOST_EXAMPLES = 10;
/** How many checks a request is let through. */
const MOST_STEPS = 8;

/** Takes each condition out of the statements that the matrix sends, and sees whether any of its requests fares otherwise. */
export async function survey(matrix: Matrix): Promise<Finding[]> {
  const trials = matrix.trials.filter(({ endpoint, path }) => path === endpoint.paths[0]);
  const { run, stop } = watch(matrix);
  try {
    const usual = new Map<Trial, Run>();
    for (const trial of trials) usual.set(trial, await run(trial, []));
    return await new Survey(run, usual).findings();
  } finally {
    stop();
  }
}

const nameOf = ({ endpoint, path, caller, about }: Trial): string =>
  [`${endpoint.method} ${path} by ${caller.name}`, about].filter(Boolean).join(", ");
const operationOf = ({ endpoint }: Trial): string => `${endpoint.method} ${endpoint.paths[0]}`;
const statusOf = ({ outcome }: Run): number => Number(outcome.slice(0, 3));
/** Whoever is let in, and asks for what is not there, comes furthest; who names something beside it, as far as the others. */
const byReach = (one: Trial, other: Trial): number => reachOf(one) - reachOf(other);
const reachOf = ({ about }: Trial): number => (about?.endsWith("of another place") ? 0 : about === null ? 1 : 2);
const textOf = (conditions: readonly Condition[]): string => conditions.map(({ text }) => text).join(" and ");

/** Runs requests with conditions taken out, and tells which statements each sent. */
function watch(matrix: Matrix): { run: RunTrial; stop: () => void } {
  let gone = new Map<string, Condition[]>();
  let sent = new Set<string>();
  const stop = interceptStatements((text) => {
    sent.add(text);
    const here = gone.get(text);
    return here ? weaken(text, here) : text;
  });
  const run: RunTrial = async (trial, without) => {
    gone = Map.groupBy(without, ({ statement }) => statement);
    const mine = (sent = new Set());
    const outcome = await matrix.observe(trial).catch((error: unknown) => `500 ${String(error)}`);
    return { outcome, sent: mine };
  };
  return { run, stop };
}

class Survey {
  readonly #run: RunTrial;
  readonly #usual: ReadonlyMap<Trial, Run>;
  readonly #senders = new Map<string, Trial[]>();
  readonly #conditions: Map<string, Condition[]>;
  readonly #fronts = new Map<Trial, Front[]>();
  /** Who is asking is not for a later check to find out: these stay as they are. */
  readonly #authentication: ReadonlySet<string>;

  constructor(run: RunTrial, usual: ReadonlyMap<Trial, Run>) {
    this.#run = run;
    this.#usual = usual;
    for (const [trial, { sent }] of usual)
      for (const text of sent) this.#senders.set(text, [...(this.#senders.get(text) ?? []), trial]);
    this.#conditions = Map.groupBy([...this.#senders.keys()].flatMap(conditionsOf), ({ name }) => name);
    const asking = [...usual].filter(([trial]) => /GET \/api\/v1\/(users\/me|agent\/healthz)$/.test(operationOf(trial)));
    this.#authentication = new Set(asking.flatMap(([, { sent }]) => [...sent]));
  }

  async findings(): Promise<Finding[]> {
    const findings: Finding[] = [];
    for (const [name, places] of this.#conditions) {
      const operations = [...new Set(places.flatMap(({ statement }) => this.#senders.get(statement)!.map(operationOf)))];
      const alone = await this.#missedAlone(places);
      const by = alone ?? (await this.#missedBehind(name, operations));
      findings.push({ name, missed: alone ? "alone" : by ? "behind" : "never", by, operations });
    }
    return findings;
  }

  async #missedAlone(places: readonly Condition[]): Promise<string | null> {
    for (const place of places)
      for (const trial of this.#senders.get(place.statement)!) {
        const usual = this.#usual.get(trial)!;
        if (await this.#differs(trial, await this.#run(trial, [place]), usual, [])) return nameOf(trial);
      }
    return null;
  }

  /** Whether a request fares otherwise than before, which was without `gone`: what changes by itself tells nothing. */
  async #differs(trial: Trial, run: Run, before: Run, gone: readonly Condition[]): Promise<boolean> {
    if (run.outcome === before.outcome) return false;
    const again = await this.#run(trial, gone);
    if (again.outcome !== before.outcome && gone.length === 0)
      throw new Error(`Not the same each time: ${nameOf(trial)}:\n${before.outcome}\n${again.outcome}`);
    return again.outcome === before.outcome;
  }

  /** Lets requests through the checks that stop them before this condition is asked, or beside it in its statement. */
  async #missedBehind(name: string, operations: readonly string[]): Promise<string | null> {
    for (const trial of this.#examplesOf(operations))
      for (const front of await this.#frontsOf(trial))
        for (const statement of front.sent) {
          const place = conditionsOf(statement).find((one) => one.name === name);
          const others = place && (await this.#missedAt(trial, front, place));
          if (others) return `${nameOf(trial)}, without ${textOf(others)}`;
        }
    return null;
  }

  /** What has to be gone beside a condition for the request to fare otherwise; null when nothing helps. */
  async #missedAt(trial: Trial, front: Front, place: Condition): Promise<readonly Condition[] | null> {
    const { gone } = front;
    if (gone.includes(place)) {
      const others = gone.filter((one) => one !== place);
      return (await this.#differs(trial, await this.#run(trial, others), front, gone)) ? others : null;
    }
    if (await this.#differs(trial, await this.#run(trial, [...gone, place]), front, gone)) return gone;
    const more = conditionsOf(place.statement).filter((one) => !gone.includes(one));
    if (more.length === 1) return null;
    const all = front.without.get(place.statement) ?? (await this.#run(trial, [...gone, ...more]));
    front.without.set(place.statement, all);
    const others = [...gone, ...more.filter((one) => one !== place)];
    return (await this.#differs(trial, await this.#run(trial, others), all, [...gone, ...more])) ? others : null;
  }

  /** Of requests that come equally far, one; those that are refused first, for they have most before them. */
  #examplesOf(operations: readonly string[]): Trial[] {
    const examples = new Map<string, Trial>();
    for (const [trial, run] of this.#usual) {
      const { caller, about } = trial;
      if (!operations.includes(operationOf(trial)) || statusOf(run) === 401) continue;
      examples.set([statusOf(run), caller.home, caller.is, about, ...run.sent].join("|"), trial);
    }
    const byStatus = Map.groupBy(examples.values(), (trial) => statusOf(this.#usual.get(trial)!));
    const refusedFirst = [...byStatus].toSorted(([one], [other]) => other - one);
    return refusedFirst.flatMap(([, trials]) => trials.toSorted(byReach).slice(0, MOST_EXAMPLES));
  }

  /** Ways to let a request get further: without one condition that it meets, and without each check that stops it. */
  async #frontsOf(trial: Trial): Promise<Front[]> {
    const known = this.#fronts.get(trial);
    if (known) return known;
    const usual = this.#usual.get(trial)!;
    const fronts = new Map<string, Front>();
    const keep = (gone: readonly Condition[], run: Run) => {
      const key = [run.outcome, ...run.sent].join("\n");
      if (!fronts.has(key)) fronts.set(key, { ...run, gone, without: new Map() });
    };
    keep([], usual);
    for (const statement of this.#checksOf(usual))
      for (const one of conditionsOf(statement)) keep([one], await this.#run(trial, [one]));
    // A request that is refused is refused by what it asked last.
    let gone: readonly Condition[] = [];
    for (let run = usual, steps = 0; steps < MOST_STEPS; steps++) {
      const last = this.#checksOf(run).findLast((statement) => !gone.some((one) => one.statement === statement));
      if (last === undefined) break;
      gone = [...gone, ...conditionsOf(last)];
      run = await this.#run(trial, gone);
      keep(gone, run);
    }
    this.#fronts.set(trial, [...fronts.values()]);
    return [...fronts.values()];
  }

  /** The statements of a run that have conditions, in order, but for those that find out who is asking. */
  #checksOf({ sent }: Run): string[] {
    return [...sent].filter((statement) => !this.#authentication.has(statement) && conditionsOf(statement).length > 0);
  }
}
