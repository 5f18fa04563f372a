import { and, asc, eq, getTableColumns, isNotNull, sql } from "drizzle-orm";
import type { BoardRow } from "../../organization/access.ts";
import { isSameInOrder } from "../../values/changed-fields.ts";
import type { Context } from "../../context/context.ts";
import { DomainError } from "../../values/errors.ts";
import {
  board_task_custom_fields as bindings,
  task_custom_field_definitions as definitions,
  task_custom_field_values as values,
} from "../../schema/task-custom-field.sql.ts";
import { checkType } from "./field-type.ts";
import { type MatchResults, readMatchResult } from "./match-patterns.ts";
import { tasks } from "../../schema/task.sql.ts";

/** A value to write. Null is stored as well: the field is then empty, even if it has a default. */
interface FieldChange {
  definition_id: string;
  value: unknown;
}

/**
 * Checks custom field values that were sent (docs/reference/tasks.md#values-on-tasks) and returns the values to write, including
 * the defaults of a new task (`task_id` null). Locks the fields. Throws OutdatedMatch if a pattern has changed since `matched` was
 * computed.
 */
export async function validateFieldValues(
  ctx: Context,
  board: BoardRow,
  sent: Readonly<Record<string, unknown>>,
  task_id: string | null,
  matched: MatchResults,
): Promise<FieldChange[]> {
  const fields = await lockFields(ctx, board, task_id);
  const keys = new Set(fields.map(({ field_key }) => field_key));
  const unknown_field_keys = Object.keys(sent).filter((key) => !keys.has(key));
  if (unknown_field_keys.length > 0)
    throw new DomainError("invalid", "Unknown custom fields for this board.", { fields: { unknown_field_keys } });

  const inputs = fields.map((field) => ({
    ...field,
    sent: Object.hasOwn(sent, field.field_key) ? sent[field.field_key] : undefined,
  }));
  for (const { sent: value, field_key, field_type, validation_regex } of inputs) {
    if (value === undefined) continue;
    const hasPattern = validation_regex !== null && typeof value === "string";
    const reason = checkType(field_type, value) ?? (hasPattern ? readMatchResult(matched, field_key, validation_regex) : null);
    if (reason !== null)
      throw new DomainError("invalid", "Custom field value is not valid.", { fields: { field_key, field_type, reason } });
  }

  const missing_field_keys = inputs
    .filter((field) => field.required && toEffectiveValue(field) === null)
    .map(({ field_key }) => field_key);
  if (missing_field_keys.length > 0)
    throw new DomainError("invalid", "Required custom fields have no value.", { fields: { missing_field_keys } });

  return inputs.flatMap(({ id: definition_id, sent: value, is_stored, stored, default_value }): FieldChange[] => {
    if (value !== undefined) return is_stored && isSameInOrder(stored, value) ? [] : [{ definition_id, value }];
    return task_id === null && default_value !== null ? [{ definition_id, value: default_value }] : [];
  });
}

type FieldInput = Awaited<ReturnType<typeof lockFields>>[number] & { sent: unknown };

/** Returns the value that a task shows for a field. A stored null takes precedence over the default. */
function toEffectiveValue({ sent, is_stored, stored, default_value }: FieldInput): unknown {
  if (sent !== undefined) return sent;
  return is_stored ? stored : default_value;
}

/** Locks the fields of a board and returns them, sorted by label, with the task's stored values. */
async function lockFields(ctx: Context, board: BoardRow, task_id: string | null) {
  const isOfTask = task_id === null ? sql`false` : eq(values.task_id, task_id);
  return ctx.db
    .select({ ...getTableColumns(definitions), is_stored: isNotNull(values.id).mapWith(Boolean), stored: values.value })
    .from(bindings)
    .innerJoin(definitions, eq(definitions.id, bindings.definition_id))
    .leftJoin(values, and(eq(values.definition_id, definitions.id), isOfTask))
    .where(and(eq(bindings.board_id, board.id), eq(definitions.organization_id, board.organization_id)))
    .orderBy(asc(sql`lower(${definitions.label})`), asc(definitions.id))
    .for("share", { of: definitions });
}

/** Writes the values that `validateFieldValues` returned, in the same transaction. */
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

/** A condition on `tasks` and `values`: whether the board of the task still has the field of the value. */
export const isBound = sql<boolean>`exists (select 1 from ${bindings} as bound
  where bound.board_id = ${tasks}.board_id and bound.definition_id = ${values}.definition_id)`;
