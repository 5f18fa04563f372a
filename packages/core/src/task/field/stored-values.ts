import { isDeepStrictEqual } from "node:util";
import { and, asc, eq, gt, inArray, isNotNull, sql } from "drizzle-orm";
import type { Context } from "../../context/context.ts";
import { DomainError } from "../../values/errors.ts";
import { task_custom_field_values as values } from "../../schema/task-custom-field.sql.ts";
import { checkType, type FieldRule, matchPattern, validateRule } from "./field-type.ts";
import { isBound } from "./field-value.ts";
import { OutdatedMatch } from "./match-patterns.ts";
import { createPatternMatcher } from "./pattern-match.ts";
import { tasks } from "../../schema/task.sql.ts";

/**
 * The maximum number of matching steps for all stored values of a field. With a hostile pattern, this many steps take about half a
 * minute.
 */
const FIELD_BUDGET = 300_000_000;
const DEFAULT_BUDGET = 20_000_000;
const PAGE_SIZE = 500;

export type RuleWithDefault = FieldRule & { default_value: unknown };

/** The result of checking a rule. The check happens before the transaction that stores the rule. */
export interface CheckedRule {
  rule: RuleWithDefault;
  /** Why the rule or its default is not valid; null if both are valid. */
  error: DomainError | null;
  /**
   * Why each stored value does not match the pattern; null for a value that matches. The key identifies the value and its row
   * version.
   */
  reasons: Map<string, string | null>;
}

/** Checks a rule and its default value. Throws `invalid`. */
export const requireValidRule = (ctx: Context, organization_id: string, rule: RuleWithDefault): Promise<void> =>
  validateRule(rule, createPatternMatcher(ctx, organization_id, DEFAULT_BUDGET));

/**
 * Checks a new rule, and matches the stored values of the field against its pattern. Values that were matched in `earlier` are
 * not matched again.
 */
export async function checkRule(
  ctx: Context,
  field: { id: string; organization_id: string },
  rule: RuleWithDefault,
  earlier: CheckedRule | null,
): Promise<CheckedRule> {
  const reasons = earlier && isDeepStrictEqual(earlier.rule, rule) ? earlier.reasons : new Map<string, string | null>();
  try {
    await requireValidRule(ctx, field.organization_id, rule);
  } catch (error) {
    if (!(error instanceof DomainError) || error.kind !== "invalid") throw error;
    return { rule, error, reasons };
  }
  const { field_type, validation_regex } = rule;
  if (validation_regex === null) return { rule, error: null, reasons };
  const match = createPatternMatcher(ctx, field.organization_id, FIELD_BUDGET);
  for await (const { key, value } of storedValues(ctx, field.id))
    if (!reasons.has(key) && checkType(field_type, value) === null)
      reasons.set(key, await matchPattern(validation_regex, value, match));
  return { rule, error: null, reasons };
}

/**
 * Throws `conflict` if a stored value on a bound board does not fit the rule. Such values on unbound boards are deleted, so that
 * they cannot reappear if the board is bound again. Throws OutdatedMatch if values have changed since the rule was checked. The
 * caller must have locked the field.
 */
export async function validateStoredValues(ctx: Context, definition_id: string, { rule, reasons }: CheckedRule): Promise<void> {
  const invalid_ids: string[] = [];
  for await (const { id, key, value, is_bound } of storedValues(ctx, definition_id)) {
    const hasPattern = rule.validation_regex !== null && typeof value === "string";
    const type_reason = checkType(rule.field_type, value);
    if (type_reason === null && hasPattern && !reasons.has(key)) throw new OutdatedMatch();
    const reason = type_reason ?? (hasPattern ? reasons.get(key)! : null);
    if (reason === null) continue;
    if (is_bound) throw new DomainError("conflict", `Tasks have values that do not fit this change: a value ${reason}.`);
    invalid_ids.push(id);
  }
  if (invalid_ids.length > 0) await ctx.db.delete(values).where(inArray(values.id, invalid_ids));
}

/** Yields the values of a field that are not null. `key` changes whenever the row changes. */
async function* storedValues(ctx: Context, definition_id: string) {
  for (let after: string | null = null; ; ) {
    const page: { id: string; key: string; value: unknown; is_bound: boolean }[] = await ctx.db
      .select({ id: values.id, key: sql<string>`${values.id} || '/' || ${values}.xmin`, value: values.value, is_bound: isBound })
      .from(values)
      .innerJoin(tasks, eq(tasks.id, values.task_id))
      .where(and(eq(values.definition_id, definition_id), isNotNull(values.value), after ? gt(values.id, after) : undefined))
      .orderBy(asc(values.id))
      .limit(PAGE_SIZE);
    yield* page;
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)!.id;
  }
}
