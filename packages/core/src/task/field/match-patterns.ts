import { and, eq, inArray, isNotNull } from "drizzle-orm";
import type { BoardRow } from "../../organization/access.ts";
import type { Context } from "../../context/context.ts";
import { DomainError } from "../../values/errors.ts";
import {
  board_task_custom_fields as bindings,
  task_custom_field_definitions as definitions,
} from "../../schema/task-custom-field.sql.ts";
import { checkType, matchPattern } from "./field-type.ts";
import { createPatternMatcher } from "./pattern-match.ts";

/** The maximum number of matching steps for the values of one task. With hostile patterns they take about a second. */
const TASK_BUDGET = 20_000_000;
const MAX_ATTEMPTS = 5;

/** The pattern that a value was compared with, and why the value does not match the pattern (null if it does). */
interface MatchResult {
  validation_regex: string;
  reason: string | null;
}

/** The match results of the sent values by field key. Fields without a pattern have no entry. */
export type MatchResults = ReadonlyMap<string, MatchResult>;

/** Thrown when the rule of a field has changed since its values were matched, so that they have to be matched again. */
export class OutdatedMatch extends Error {
  override name = "OutdatedMatch";
}

/**
 * Calls `match`, then `work` with its results, and repeats both if `work` throws OutdatedMatch. The two are separate, because
 * matching a hostile pattern can take a second, and no lock or connection may be held that long.
 */
export async function withMatchResults<R, T>(match: () => Promise<R>, work: (results: R) => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const results = await match();
    try {
      return await work(results);
    } catch (error) {
      if (!(error instanceof OutdatedMatch)) throw error;
    }
  }
  throw new DomainError("conflict", "The custom fields were changed at the same time. Repeat the request.");
}

/**
 * Matches sent values against the patterns of the board's fields. Values of a wrong type are skipped, because a later check
 * refuses them.
 */
export async function matchSentValues(
  ctx: Context,
  board: BoardRow,
  sent: Readonly<Record<string, unknown>> | undefined,
): Promise<MatchResults> {
  const keys = Object.entries(sent ?? {}).flatMap(([key, value]) => (typeof value === "string" ? [key] : []));
  const results = new Map<string, MatchResult>();
  if (keys.length === 0) return results;
  const fields = await ctx.db
    .select({
      field_key: definitions.field_key,
      field_type: definitions.field_type,
      validation_regex: definitions.validation_regex,
    })
    .from(bindings)
    .innerJoin(definitions, eq(definitions.id, bindings.definition_id))
    .where(
      and(
        eq(bindings.board_id, board.id),
        eq(definitions.organization_id, board.organization_id),
        inArray(definitions.field_key, keys),
        isNotNull(definitions.validation_regex),
      ),
    );
  const match = createPatternMatcher(ctx, board.organization_id, TASK_BUDGET);
  for (const { field_key, field_type, validation_regex } of fields) {
    const value = sent?.[field_key];
    if (validation_regex === null || checkType(field_type, value) !== null) continue;
    results.set(field_key, { validation_regex, reason: await matchPattern(validation_regex, value, match) });
  }
  return results;
}

/** Looks up the result for a value. Throws OutdatedMatch if the pattern has changed since the value was matched. */
export function readMatchResult(results: MatchResults, field_key: string, validation_regex: string): string | null {
  const result = results.get(field_key);
  if (result?.validation_regex !== validation_regex) throw new OutdatedMatch();
  return result.reason;
}
