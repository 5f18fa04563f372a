import { isDeepStrictEqual } from "node:util";
import { and, asc, eq, getTableColumns, gt, inArray, isNotNull, sql } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import {
  board_task_custom_fields as bindings,
  task_custom_field_definitions as definitions,
  task_custom_field_values as values,
} from "./custom-field.sql.ts";
import { type FieldRule, type Judge, judgeOf } from "./custom-field-type.ts";
import { tasks } from "./task.sql.ts";

/** A value to be written; null is one too. */
export interface FieldChange {
  definition_id: string;
  value: unknown;
}

/**
 * Checks what was sent for the custom fields of a board, and returns what is to be written: of a new task (`task_id` null)
 * every sent value and the defaults of the other fields, else what differs from what is stored.
 *
 * To be called in the transaction that writes: it holds the definitions, so that a value cannot slip past a change of its
 * field. Throws `invalid` with `unknown_field_keys`, with `field_key`, `field_type` and `reason`, or with
 * `missing_field_keys`, in this order.
 */
export async function checkFieldValues(
  ctx: Context,
  board: BoardRow,
  sent: Readonly<Record<string, unknown>>,
  task_id: string | null,
): Promise<FieldChange[]> {
  const fields = await holdFields(ctx, board, task_id);
  const keys = new Set(fields.map(({ field_key }) => field_key));
  const unknown_field_keys = Object.keys(sent).filter((key) => !keys.has(key));
  if (unknown_field_keys.length > 0)
    throw new DomainError("invalid", "Unknown custom fields for this board.", { fields: { unknown_field_keys } });

  const filled = fields.map((field) => ({
    ...field,
    sent: Object.hasOwn(sent, field.field_key) ? sent[field.field_key] : undefined,
  }));
  for (const { sent: value, field_key, field_type, validation_regex } of filled) {
    if (value === undefined) continue;
    const reason = await (await judgeOf({ field_type, validation_regex: value === null ? null : validation_regex }))(value);
    if (reason !== null)
      throw new DomainError("invalid", "Custom field value is not valid.", { fields: { field_key, field_type, reason } });
  }

  const missing_field_keys = filled
    .filter((field) => field.required && effectiveOf(field) === null)
    .map(({ field_key }) => field_key);
  if (missing_field_keys.length > 0)
    throw new DomainError("invalid", "Required custom fields have no value.", { fields: { missing_field_keys } });

  return filled.flatMap(({ id: definition_id, sent: value, is_stored, stored, default_value }): FieldChange[] => {
    if (value !== undefined) return is_stored && isDeepStrictEqual(stored, value) ? [] : [{ definition_id, value }];
    return task_id === null && default_value !== null ? [{ definition_id, value: default_value }] : [];
  });
}

type Filled = Awaited<ReturnType<typeof holdFields>>[number] & { sent: unknown };

/** What a task shows for a field. A stored null is a value: it hides the default. */
function effectiveOf({ sent, is_stored, stored, default_value }: Filled): unknown {
  if (sent !== undefined) return sent;
  return is_stored ? stored : default_value;
}

/** The fields of a board by label, held, each with what a task stores for it. */
async function holdFields(ctx: Context, board: BoardRow, task_id: string | null) {
  const ofTask = task_id === null ? sql`false` : eq(values.task_id, task_id);
  return ctx.db
    .select({ ...getTableColumns(definitions), is_stored: isNotNull(values.id).mapWith(Boolean), stored: values.value })
    .from(bindings)
    .innerJoin(definitions, eq(definitions.id, bindings.definition_id))
    .leftJoin(values, and(eq(values.definition_id, definitions.id), ofTask))
    .where(and(eq(bindings.board_id, board.id), eq(definitions.organization_id, board.organization_id)))
    .orderBy(asc(sql`lower(${definitions.label})`), asc(definitions.id))
    .for("share", { of: definitions });
}

/** Writes what `checkFieldValues` returned, in its transaction. */
export async function storeFieldValues(ctx: Context, task_id: string, changes: readonly FieldChange[]): Promise<void> {
  if (changes.length === 0) return;
  await ctx.db
    .insert(values)
    .values(changes.map((change) => ({ ...change, task_id })))
    .onConflictDoUpdate({
      target: [values.task_id, values.definition_id],
      set: { value: sql`excluded.value`, updated_at: sql`now()` },
    });
}

const PAGE = 500;

/**
 * Holds the stored values of a field against a new rule: throws `conflict` when a task of a bound board has one that does
 * not fit. Values of boards that have lost the field count for nothing; those that do not fit are removed, so that they
 * cannot come back with the field. To be called in the transaction that changes the definition and holds it.
 */
export async function checkStoredValues(ctx: Context, definition_id: string, rule: FieldRule): Promise<void> {
  const judge = await judgeOf(rule);
  for (let after: string | null = null; ; ) {
    const page = await readValues(ctx, definition_id, after);
    const misfits = await findMisfits(page, judge);
    if (misfits.length > 0) await ctx.db.delete(values).where(inArray(values.id, misfits));
    if (page.length < PAGE) return;
    after = page.at(-1)!.id;
  }
}

async function findMisfits(page: Awaited<ReturnType<typeof readValues>>, judge: Judge): Promise<string[]> {
  const misfits: string[] = [];
  for (const { id, value, is_bound } of page) {
    const reason = await judge(value);
    if (reason === null) continue;
    if (is_bound) throw new DomainError("conflict", `Task values exist that this change would break: a value ${reason}.`);
    misfits.push(id);
  }
  return misfits;
}

/** Whether a board has a field, as a condition on `tasks` and `values`. */
export const isBound = sql<boolean>`exists (select 1 from ${bindings} as bound
  where bound.board_id = ${tasks}.board_id and bound.definition_id = ${values}.definition_id)`;

async function readValues(ctx: Context, definition_id: string, after: string | null) {
  return ctx.db
    .select({ id: values.id, value: values.value, is_bound: isBound })
    .from(values)
    .innerJoin(tasks, eq(tasks.id, values.task_id))
    .where(and(eq(values.definition_id, definition_id), isNotNull(values.value), after ? gt(values.id, after) : undefined))
    .orderBy(asc(values.id))
    .limit(PAGE);
}
