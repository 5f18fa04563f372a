import type { AccessMatrix, AccessCase } from "./access-matrix.ts";
import { type OwnerCondition, findOwnerConditions } from "./mutate-sql.ts";
import { createRunner, isSettled, type Run, type RunTrial, statusOf } from "./run-trial.ts";

/**
 * How a removed condition is detected: when it alone is removed, only when checks in front of it are removed too ("behind"), or
 * never. Conditions that this run does not remove are "not tried".
 */
export type Detection = "alone" | "behind" | "never" | "not tried";

/**
 * Selects the conditions that a run removes. All conditions are split into `of` parts of about the same size, and this is part
 * `number`. Only conditions in statements with one of the texts in `containing` are removed. Only matching `operations` are sent.
 */
export interface Part {
  number: number;
  of: number;
  containing: readonly string[];
  operations: RegExp;
}

export interface MutationResult {
  name: string;
  detected: Detection;
  /** The request that detects the removal, and what else was removed. Null when no request detects the removal. */
  by: string | null;
  /** The operations that send the statement of the condition. */
  operations: string[];
}

export interface MutationRunResult {
  findings: MutationResult[];
  /** Requests that had two results without any change, and both results. */
  unstable: (readonly [string, readonly [string, string]])[];
}

/** A request that gets past the checks in front of a condition: which conditions were removed for that, and the resulting run. */
interface MutatedRun extends Run {
  removed: readonly OwnerCondition[];
  /** The runs without any condition of a statement, as far as they were tried. */
  without: Map<string, Run>;
}

const NOT_TRIED = { detected: "not tried", by: null } as const;
/** The maximum number of requests per status. More requests that get equally far would detect nothing more. */
const MAX_EXAMPLES = 10;
/** The maximum number of checks to remove for a request. */
const MAX_STEPS = 8;

/** Removes each condition from the statements of the matrix and checks whether the result of any request changes. */
export async function runMutations(
  matrix: AccessMatrix,
  part: Part,
  onFinding: (finding: MutationResult, index: number, count: number) => void,
): Promise<MutationRunResult> {
  const trials = matrix.cases.filter(
    (trial) =>
      trial.path === trial.endpoint.paths[0] &&
      (part.operations.test(operationOf(trial)) || isAuthentication(operationOf(trial))),
  );
  const { run, stop } = createRunner(matrix);
  try {
    const usual = new Map<AccessCase, Run>();
    for (const trial of trials) usual.set(trial, await run(trial, []));
    const mutations = new MutationRun(run, usual);
    return { findings: await mutations.findings(part, onFinding), unstable: [...mutations.unstable] };
  } finally {
    stop();
  }
}

const describeTrial = ({ endpoint, path, caller, variation }: AccessCase): string =>
  [`${endpoint.method} ${path} by ${caller.name}`, variation].filter(Boolean).join(", ");
/** Names the operation of a case. Searches of a list count as a separate operation, because they send other statements. */
const operationOf = ({ endpoint, search }: AccessCase): string => `${endpoint.method} ${endpoint.paths[0]}${search ? "?q" : ""}`;
/** Operations that only authenticate the caller. */
const isAuthentication = (operation: string): boolean => /GET \/api\/v1\/(users\/me|agent\/healthz)$/.test(operation);
/** Sorts requests by how far they get: permitted requests for missing rows first. */
const compareDepth = (one: AccessCase, other: AccessCase): number => depthOf(one) - depthOf(other);
const depthOf = ({ variation }: AccessCase): number => (variation?.endsWith("of another place") ? 0 : variation === null ? 1 : 2);
const textOf = (conditions: readonly OwnerCondition[]): string => conditions.map(({ text }) => text).join(" and ");

class MutationRun {
  readonly #run: RunTrial;
  readonly #usual: ReadonlyMap<AccessCase, Run>;
  readonly #senders = new Map<string, AccessCase[]>();
  readonly #conditions: Map<string, OwnerCondition[]>;
  readonly #fronts = new Map<AccessCase, MutatedRun[]>();
  /** Requests with two results without any change. */
  readonly unstable = new Map<string, [string, string]>();
  /** The statements that authenticate the caller, which are not changed. */
  readonly #authentication: ReadonlySet<string>;

  constructor(run: RunTrial, usual: ReadonlyMap<AccessCase, Run>) {
    this.#run = run;
    this.#usual = usual;
    for (const [trial, { sent }] of usual)
      for (const text of sent) this.#senders.set(text, [...(this.#senders.get(text) ?? []), trial]);
    this.#conditions = Map.groupBy([...this.#senders.keys()].flatMap(findOwnerConditions), ({ name }) => name);
    const asking = [...usual].filter(([trial]) => isAuthentication(operationOf(trial)));
    this.#authentication = new Set(asking.flatMap(([, { sent }]) => [...sent]));
  }

  async findings(part: Part, onFinding: Parameters<typeof runMutations>[2]): Promise<MutationResult[]> {
    const findings: MutationResult[] = [];
    // Parts are consecutive, because conditions of one operation share the search for requests that pass its earlier checks.
    const size = Math.ceil(this.#conditions.size / part.of);
    for (const [name, places] of this.#conditions) {
      const operations = [...new Set(places.flatMap(({ statement }) => this.#senders.get(statement)!.map(operationOf)))];
      const isTried =
        Math.floor(findings.length / size) === part.number - 1 && part.containing.some((text) => name.includes(text));
      const finding = { name, operations, ...(isTried ? await this.#find(name, places, operations) : NOT_TRIED) };
      findings.push(finding);
      onFinding(finding, findings.length, this.#conditions.size);
    }
    return findings;
  }

  async #find(name: string, places: readonly OwnerCondition[], operations: readonly string[]) {
    const alone = await this.#missedAlone(places);
    if (alone) return { detected: "alone" as const, by: alone };
    const by = await this.#missedBehind(name, operations);
    return { detected: by ? ("behind" as const) : ("never" as const), by };
  }

  async #missedAlone(places: readonly OwnerCondition[]): Promise<string | null> {
    for (const place of places) {
      const settled = new Set<string>();
      for (const trial of this.#senders.get(place.statement)!) {
        const usual = this.#usual.get(trial)!;
        const { asked } = usual.exchanges.get(place.statement) ?? {};
        if (asked !== undefined && settled.has(asked)) continue;
        const run = await this.#run(trial, [place]);
        if (await this.#differs(trial, run, usual, [])) return describeTrial(trial);
        if (asked !== undefined && isSettled(place.statement, run, usual)) settled.add(asked);
      }
    }
    return null;
  }

  /** Checks whether the result of a request changes. A result that also differs without a change is reported at the end. */
  async #differs(trial: AccessCase, run: Run, before: Run, removed: readonly OwnerCondition[]): Promise<boolean> {
    if (run.outcome === before.outcome) return false;
    const again = await this.#run(trial, removed);
    const isStable = again.outcome === before.outcome;
    if (!isStable && removed.length === 0) this.unstable.set(describeTrial(trial), [before.outcome, again.outcome]);
    return isStable;
  }

  /** Removes earlier checks, or other conditions of the statement, that stop requests before this condition. */
  async #missedBehind(name: string, operations: readonly string[]): Promise<string | null> {
    const settled = new Set<string>();
    for (const trial of this.#examplesOf(operations))
      for (const front of await this.#frontsOf(trial))
        for (const statement of front.sent) {
          const place = findOwnerConditions(statement).find((condition) => condition.name === name);
          const others = place && (await this.#missedAt(trial, front, place, settled));
          if (others) return `${describeTrial(trial)}, without ${textOf(others)}`;
        }
    return null;
  }

  /**
   * Returns the other conditions to remove so that the result of the request changes; null when none helps. If the database got
   * and answered the same with and without the condition, the key goes into `settled`, and other requests skip it.
   */
  async #missedAt(
    trial: AccessCase,
    front: MutatedRun,
    place: OwnerCondition,
    settled: Set<string>,
  ): Promise<readonly OwnerCondition[] | null> {
    const { removed } = front;
    const { statement } = place;
    const sameStatement = removed.filter((condition) => condition.statement === statement);
    const key = [front.exchanges.get(statement)?.asked, ...sameStatement.map(({ name }) => name)].join("\n");
    if (settled.has(key)) return null;
    let isAlike = true;
    const isMissed = async (without: readonly OwnerCondition[], before: Run, removedBefore: readonly OwnerCondition[]) => {
      const run = await this.#run(trial, without);
      isAlike &&= isSettled(statement, run, before);
      return this.#differs(trial, run, before, removedBefore);
    };
    if (removed.includes(place)) {
      const others = removed.filter((condition) => condition !== place);
      if (await isMissed(others, front, removed)) return others;
    } else {
      if (await isMissed([...removed, place], front, removed)) return removed;
      const more = findOwnerConditions(statement).filter((condition) => !removed.includes(condition));
      const everything = [...removed, ...more];
      if (more.length > 1) {
        const all = front.without.get(statement) ?? (await this.#run(trial, everything));
        front.without.set(statement, all);
        const others = everything.filter((condition) => condition !== place);
        if (await isMissed(others, all, everything)) return others;
      }
    }
    if (isAlike) settled.add(key);
    return null;
  }

  /**
   * Selects one of the requests that get equally far. Refused requests come first, because the most checks are still ahead of
   * them.
   */
  #examplesOf(operations: readonly string[]): AccessCase[] {
    const examples = new Map<string, AccessCase>();
    for (const [trial, run] of this.#usual) {
      const { caller, variation } = trial;
      if (!operations.includes(operationOf(trial)) || statusOf(run) === 401) continue;
      examples.set([statusOf(run), caller.home, caller.is, variation, ...run.sent].join("|"), trial);
    }
    const byStatus = Map.groupBy(examples.values(), (trial) => statusOf(this.#usual.get(trial)!));
    const refusedFirst = [...byStatus].toSorted(([a], [b]) => b - a);
    return refusedFirst.flatMap(([, trials]) => trials.toSorted(compareDepth).slice(0, MAX_EXAMPLES));
  }

  /** Returns runs in which the request gets further: without one of its conditions, and without each check that stops it. */
  async #frontsOf(trial: AccessCase): Promise<MutatedRun[]> {
    const known = this.#fronts.get(trial);
    if (known) return known;
    const usual = this.#usual.get(trial)!;
    const fronts = new Map<string, MutatedRun>();
    const keep = (removed: readonly OwnerCondition[], run: Run) => {
      const key = [run.outcome, ...run.sent].join("\n");
      if (!fronts.has(key)) fronts.set(key, { ...run, removed, without: new Map() });
    };
    keep([], usual);
    for (const statement of this.#checksOf(usual))
      for (const condition of findOwnerConditions(statement)) keep([condition], await this.#run(trial, [condition]));
    // A refused request was stopped by its last check.
    let removed: readonly OwnerCondition[] = [];
    for (let run = usual, steps = 0; steps < MAX_STEPS; steps++) {
      const last = this.#checksOf(run).findLast((statement) => !removed.some((condition) => condition.statement === statement));
      if (last === undefined) break;
      removed = [...removed, ...findOwnerConditions(last)];
      run = await this.#run(trial, removed);
      keep(removed, run);
    }
    this.#fronts.set(trial, [...fronts.values()]);
    return [...fronts.values()];
  }

  /** Returns the statements of a run with conditions in order, except those that authenticate the caller. */
  #checksOf({ sent }: Run): string[] {
    return [...sent].filter((statement) => !this.#authentication.has(statement) && findOwnerConditions(statement).length > 0);
  }
}
