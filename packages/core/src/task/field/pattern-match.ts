import { setImmediate as yieldToOthers, setTimeout as pause } from "node:timers/promises";
import { memoPerApp } from "../../context/app-memo.ts";
import { createKeyedLimiter, createLimiter } from "../../values/concurrency.ts";
import type { Context } from "../../context/context.ts";
import { DomainError } from "../../values/errors.ts";

/** The maximum size of compiled patterns: repetition counts can turn 500 characters into half a million instructions. */
const MAX_INSTRUCTIONS = 2_500;
/**
 * The maximum product of instructions and characters, which is the number of steps of one match in the worst case. Even a hostile
 * pattern then takes at most half a second.
 */
const MAX_STEPS = 10_000_000;
/** A match with at most this many steps takes milliseconds, so it does not have to queue behind other matches. */
const QUICK_STEPS = 200_000;
/** How many slow matches of one organization may be queued in a process. */
const MAX_WAITING = 20;
const RETRY_AFTER_SECONDS = 5;

/** Returns why a pattern does not match a whole text; null if it does. Throws `invalid` and `limited`. */
export type PatternMatcher = (pattern: string, text: string) => Promise<string | null>;

/**
 * Creates a matcher for one request, whose matches together may take `budget` steps. Use it outside of a transaction, because slow
 * matches wait in a queue and must not hold locks or a connection while they wait.
 */
export function createPatternMatcher(ctx: Context, organization_id: string, budget: number): PatternMatcher {
  const compiled = new Map<string, ReturnType<typeof compilePattern>>();
  let left = budget;
  return async (source, text) => {
    const compiling = compiled.get(source) ?? compilePattern(source);
    compiled.set(source, compiling);
    const pattern = await compiling;
    const steps = text.length * pattern.instructions;
    if (steps > MAX_STEPS) return "is too long for its validation_regex";
    left -= steps;
    if (left < 0) return "would take too long to match, together with the other values";
    const matches = await (steps <= QUICK_STEPS
      ? yieldToOthers().then(() => pattern.matches(text))
      : takeTurn(ctx, organization_id, () => pattern.matches(text)));
    return matches ? null : "does not match validation_regex";
  };
}

/** Throws `invalid` if RE2 cannot compile a pattern, or if the compiled pattern is too large. */
export const validatePattern = async (source: string): Promise<void> => void (await compilePattern(source));

/** Compiles a pattern. The RE2 engine is loaded on first use, since most requests have no pattern. */
async function compilePattern(source: string): Promise<{ instructions: number; matches: (text: string) => boolean }> {
  const { RE2JS, RE2JSException } = await import("re2js");
  let pattern: InstanceType<typeof RE2JS>;
  try {
    pattern = RE2JS.compile(source);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new DomainError("invalid", `validation_regex cannot be used: ${error.message}.`);
  }
  const instructions = pattern.programSize();
  if (instructions > MAX_INSTRUCTIONS)
    throw new DomainError("invalid", "validation_regex is too large: its repetition counts expand to too many steps.");
  return { instructions, matches: (text) => pattern.matches(text) };
}

function requireRoom(pending: number): void {
  if (pending < MAX_WAITING) return;
  throw new DomainError("limited", "Too many values are being matched against patterns of this organization.", {
    retry_after_seconds: RETRY_AFTER_SECONDS,
  });
}

const queuesOf = memoPerApp(() => ({ all: createLimiter(1), ofOrganization: createKeyedLimiter(1, requireRoom) }));

/**
 * Runs slow matches one at a time, alternating between organizations. After each match, it pauses for as long as the match took, so
 * that at least half of the process's time is free for other requests.
 */
function takeTurn(ctx: Context, organization_id: string, match: () => boolean): Promise<boolean> {
  const queues = queuesOf(ctx);
  return queues.ofOrganization(organization_id, () =>
    queues.all(async () => {
      await yieldToOthers();
      const start = performance.now();
      const result = match();
      await pause(performance.now() - start);
      return result;
    }),
  );
}
