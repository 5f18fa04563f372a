import { createHash } from "node:crypto";
import type { AccessCase, AccessMatrix } from "./access-matrix.ts";
import { interceptStatements } from "./intercept-statements.ts";
import { type OwnerCondition, removeConditions } from "./mutate-sql.ts";

/** The result of a request and what it asked the database. */
export interface Run {
  outcome: string;
  sent: ReadonlySet<string>;
  exchanges: ReadonlyMap<string, Exchange>;
}

/**
 * Digests of what a request sent with a statement, and of the database's answer. `asked` includes everything that was written
 * before, so equal values of `asked` have equal answers in every request.
 */
interface Exchange {
  asked: string;
  answered: string;
}

export type RunTrial = (trial: AccessCase, without: readonly OwnerCondition[]) => Promise<Run>;

export const statusOf = ({ outcome }: Run): number => Number(outcome.slice(0, 3));

/** Statements that write no rows. */
const READS = /^\s*(?:select|begin|savepoint|release|rollback|commit|set)\b/i;

/** Runs requests without conditions and records the statements of each. */
export function createRunner(matrix: AccessMatrix): { run: RunTrial; stop: () => void } {
  let removedByStatement = new Map<string, OwnerCondition[]>();
  let sent = new Set<string>();
  let exchanges = new Map<string, Exchange>();
  let written = "";
  const replace = (text: string): string => {
    sent.add(text);
    const removed = removedByStatement.get(text);
    return removed ? removeConditions(text, removed) : text;
  };
  const stop = interceptStatements(replace, {
    onValues(text, values) {
      const { asked = "", answered = "" } = exchanges.get(text) ?? {};
      exchanges.set(text, { asked: digest(asked, written, text, values), answered });
      if (!READS.test(text)) written = digest(written, replace(text), values);
    },
    onResult(text, result) {
      const exchange = exchanges.get(text);
      if (exchange) exchange.answered = digest(exchange.answered, result);
    },
  });
  const run: RunTrial = async (trial, without) => {
    removedByStatement = Map.groupBy(without, ({ statement }) => statement);
    const statements = (sent = new Set());
    const answers = (exchanges = new Map());
    written = "";
    const outcome = await matrix.observe(trial).catch((error: unknown) => `500 ${String(error)}`);
    return { outcome, sent: statements, exchanges: answers };
  };
  return { run, stop };
}

const digest = (...parts: readonly unknown[]): string =>
  createHash("sha1")
    .update(JSON.stringify(parts, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)))
    .digest("base64");

/**
 * Checks whether two runs sent a statement after the same writes and got the same answer. Then no other request that sends it can
 * tell the runs apart. What a refused request has written is not known, because it was rolled back.
 */
export function isSettled(statement: string, run: Run, other: Run): boolean {
  const [one, two] = [run, other].map(({ exchanges }) => exchanges.get(statement));
  const isKnown = READS.test(statement) || statusOf(run) < 400;
  return isKnown && Boolean(one?.answered) && one?.asked === two?.asked && one?.answered === two?.answered;
}
