import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { and, asc, eq, getTableColumns, inArray, notInArray, sql } from "drizzle-orm";
import * as z from "zod";
import { recordAudit } from "../../audit/record.ts";
import type { Admin, Member } from "../../context/actor.ts";
import { boards } from "../../schema/board.sql.ts";
import { changedFields, isEmpty, isSameInOrder } from "../../values/changed-fields.ts";
import { type Context, transaction } from "../../context/context.ts";
import { actingAs, actingFor } from "../../db/change-actor.ts";
import { mapUniqueViolation } from "../../db/query-error.ts";
import { DomainError, notFound } from "../../values/errors.ts";
import { aggregatedList, largeJson, largeText, readShortened, toShortened, truncatable } from "../../lists/large-fields.ts";
import { type ArrayQuery, arrayLimit } from "../../lists/page.ts";
import {
  TextOrNull,
  Id,
  Instant,
  MAX_IDS,
  MAX_NAME,
  MAX_SLUG,
  MAX_TEXT,
  NonEmpty,
  valueError,
  lazyObject,
} from "../../values/wire.ts";
import {
  board_task_custom_fields as bindings,
  task_custom_field_definitions as definitions,
  task_custom_field_values as values,
} from "../../schema/task-custom-field.sql.ts";
import { FieldType, FieldTypeIn, Visibility, VisibilityIn } from "./field-type.ts";
import { isBound } from "./field-value.ts";
import { OutdatedMatch, withMatchResults } from "./match-patterns.ts";
import { type CheckedRule, checkRule, requireValidRule, type RuleWithDefault, validateStoredValues } from "./stored-values.ts";
import { tasks } from "../../schema/task.sql.ts";

const MAX_REGEX = 500;

export const CustomField = lazyObject(() => ({
  id: Id.describe("Id of the field."),
  organization_id: Id.describe("Organization that the field belongs to."),
  field_key: z.string().describe("Key of the field's values on tasks, unique in the organization."),
  label: z.string().describe("Display name."),
  field_type: FieldType.describe("Type of the values."),
  ui_visibility: Visibility.describe("When the field is shown."),
  validation_regex: z.string().nullable().describe("RE2 pattern that a text value must match as a whole."),
  description: z.string().nullable().describe("What the field is for."),
  required: z.boolean().describe("Whether a task must have a value that is not null."),
  default_value: z.unknown().describe("Value of tasks that store no value for the field."),
  board_ids: z.array(Id).describe("Boards whose tasks have the field, ordered by id."),
  created_at: Instant.describe("When the field was created."),
  updated_at: Instant.describe("When the field last changed."),
  ...truncatable,
})).meta({ id: "CustomField", description: "An additional field for the tasks of some boards." });
export type CustomField = z.infer<typeof CustomField>;

const BoardIds = z
  .array(Id)
  .min(1)
  .max(MAX_IDS)
  .transform((ids) => [...new Set(ids)]);

/** A blank pattern means that there is no pattern. Other patterns are not trimmed, because spaces are part of a pattern. */
const Pattern = z
  .string()
  .max(MAX_REGEX)
  .nullable()
  .transform((text) => (text?.trim() ? text : null))
  .describe("RE2 pattern that a value must match as a whole. Only for text, text_long, date, date_time and url.");

const Fields = lazyObject(() => ({
  field_type: FieldTypeIn.describe(
    "Type of the values. Also accepted: `text (long)`, `long_text`, `true/false`, `date & time`, `datetime`.",
  ),
  ui_visibility: VisibilityIn.describe("When the field is shown. Also accepted: `if set`."),
  description: TextOrNull(MAX_TEXT).describe("What the field is for."),
  required: z.boolean().describe("Whether a task must have a value that is not null."),
  default_value: z.unknown().describe("Value of tasks that store no value for the field; null means no default."),
}));

export const CreateCustomField = lazyObject(() => ({
  field_key: NonEmpty(MAX_SLUG)
    // In JavaScript, assigning this key on an object would replace the object's prototype.
    .refine((key) => key !== "__proto__", valueError("field_key must not be __proto__"))
    .describe("Key of the field's values on tasks. It cannot be changed later."),
  label: NonEmpty(MAX_NAME).optional().describe("Display name. The key is used when it is absent."),
  field_type: Fields.shape.field_type.default("text"),
  ui_visibility: Fields.shape.ui_visibility.default("always"),
  validation_regex: Pattern.default(null),
  description: Fields.shape.description.default(null),
  required: Fields.shape.required.default(false),
  default_value: Fields.shape.default_value.default(null),
  board_ids: BoardIds.describe("Boards whose tasks have the field."),
})).meta({ id: "CustomFieldCreate" });
export type CreateCustomField = z.infer<typeof CreateCustomField>;

export const UpdateCustomField = lazyObject(() => ({
  field_key: z.never(valueError("field_key cannot be changed after creation.")).optional().describe("Cannot be changed."),
  label: NonEmpty(MAX_NAME).optional().describe("Display name."),
  field_type: Fields.shape.field_type.optional().describe("Type of the values. Stored values must fit."),
  ui_visibility: Fields.shape.ui_visibility.optional(),
  validation_regex: Pattern.optional().describe("RE2 pattern that a value must match as a whole. Stored values must fit."),
  description: Fields.shape.description.optional(),
  required: Fields.shape.required.optional(),
  default_value: Fields.shape.default_value.optional(),
  board_ids: BoardIds.optional().describe("Boards whose tasks have the field. Replaces the current boards."),
}))
  .refine((sent) => !isEmpty(sent), valueError("At least one field is required"))
  .meta({ id: "CustomFieldUpdate" });
export type UpdateCustomField = z.infer<typeof UpdateCustomField>;

const boardIds = aggregatedList<string>(
  sql`json_agg(bound.board_id order by bound.board_id)`,
  sql`from ${bindings} as bound where bound.definition_id = ${definitions}.id`,
);
const columns = { ...getTableColumns(definitions), board_ids: boardIds.column };
const LARGE_FIELD_FIELDS = { description: largeText, default_value: largeJson, board_ids: boardIds };
const MIN_FIELD_BYTES = 300;
type DefinitionRow = typeof definitions.$inferSelect;

const fieldCondition = (ctx: Context<Member>, field_id: string) =>
  and(eq(definitions.id, field_id), eq(definitions.organization_id, ctx.actor.active.organization_id));

/** Lists the custom fields of the active organization, by label. */
export async function listCustomFields(ctx: Context<Member>, query: ArrayQuery): Promise<CustomField[]> {
  const max_rows = arrayLimit(ctx, MIN_FIELD_BYTES, query);
  const rows = await readShortened(ctx, { fields: columns, large: LARGE_FIELD_FIELDS, max_rows }, (columns) =>
    ctx.db
      .select(columns)
      .from(definitions)
      .where(eq(definitions.organization_id, ctx.actor.active.organization_id))
      .orderBy(asc(sql`lower(${definitions.label})`), asc(definitions.id))
      .limit(max_rows)
      .offset(query.offset),
  );
  return rows.map((row) => toShortened(row, toCustomField));
}

export async function getCustomField(ctx: Context<Member>, field_id: string): Promise<CustomField> {
  const [row] = await ctx.db.select(columns).from(definitions).where(fieldCondition(ctx, field_id));
  if (!row) throw notFound();
  return toCustomField(row);
}

/**
 * Creates a custom field. Throws `invalid` for unknown boards, a bad pattern or a bad default, and `conflict` if the key is already
 * used.
 */
export async function createCustomField(ctx: Context<Admin>, input: CreateCustomField): Promise<CustomField> {
  const { board_ids, ...sent } = input;
  const { organization_id } = ctx.actor.active;
  requireBoardsExist(board_ids, await selectBoards(ctx, board_ids));
  await requireValidRule(ctx, organization_id, sent);
  const id = randomUUID();
  const inserted = ctx.db.$with("inserted").as(
    ctx.db
      .insert(definitions)
      .values({ ...sent, id, organization_id: actingFor(ctx, organization_id), label: sent.label ?? sent.field_key })
      .returning(),
  );
  const bound = ctx.db.$with("bound").as(
    ctx.db
      .insert(bindings)
      .values(board_ids.map((board_id) => ({ board_id, definition_id: id })))
      .returning({ id: bindings.id }),
  );
  const keyTaken = () => new DomainError("conflict", "Field key already exists in this organization.");
  const [row] = await mapUniqueViolation({ task_custom_field_definitions_key: keyTaken }, () =>
    ctx.db.with(inserted, bound).select().from(inserted),
  );
  return toCustomField({ ...row!, board_ids: board_ids.toSorted() });
}

/**
 * Updates a custom field. Throws `invalid` like `createCustomField`, and `conflict` if stored values do not fit a new type or
 * pattern. If a board is unbound from the field, its tasks keep their values but do not show them.
 */
export function updateCustomField(ctx: Context<Admin>, field_id: string, input: UpdateCustomField): Promise<CustomField> {
  let checked: CheckedRule | null = null;
  const match = async () => (checked = await checkNewRule(ctx, field_id, input, checked));
  return withMatchResults(match, (checked) => storeCustomField(ctx, field_id, input, checked));
}

/**
 * Checks the new rule of a field before the field is locked, because patterns can be slow. Returns null if the rule does not
 * change.
 */
async function checkNewRule(
  ctx: Context<Admin>,
  field_id: string,
  { field_type, validation_regex, default_value }: UpdateCustomField,
  earlier: CheckedRule | null,
): Promise<CheckedRule | null> {
  const sent = { field_type, validation_regex, default_value };
  if (Object.values(sent).every((value) => value === undefined)) return null;
  const [stored] = await ctx.db.select().from(definitions).where(fieldCondition(ctx, field_id));
  if (!stored) return null;
  const changes = changedFields(stored, sent, isSameInOrder);
  return isEmpty(changes) ? null : checkRule(ctx, stored, toRule({ ...stored, ...changes }), earlier);
}

const toRule = ({ field_type, validation_regex, default_value }: RuleWithDefault): RuleWithDefault => ({
  field_type,
  validation_regex,
  default_value,
});

function storeCustomField(
  ctx: Context<Admin>,
  field_id: string,
  input: UpdateCustomField,
  checked: CheckedRule | null,
): Promise<CustomField> {
  const { board_ids, field_key: _, ...sent } = input;
  return transaction(ctx, async (ctx) => {
    // Boards are locked before the field, in the same order as when a task is created.
    const existing = board_ids ? await selectBoards(ctx, board_ids).for("key share") : [];
    const stored = await lockField(ctx, field_id, "no key update");
    if (board_ids) requireBoardsExist(board_ids, existing);
    const changes = changedFields(stored, sent, isSameInOrder);
    const changed = { ...stored, ...changes };
    const ruleChanged = changes.field_type !== undefined || changes.validation_regex !== undefined;
    const checksRule = ruleChanged || changes.default_value !== undefined;
    if (checksRule && !isDeepStrictEqual(checked?.rule, toRule(changed))) throw new OutdatedMatch();
    if (checksRule && checked?.error) throw checked.error;
    const bindingsChanged = board_ids !== undefined && (await replaceBindings(ctx, stored.id, board_ids));
    if (ruleChanged && checked) await validateStoredValues(ctx, stored.id, checked);
    if (isEmpty(changes) && !bindingsChanged) return getCustomField(ctx, field_id);
    const [row] = await ctx.db
      .update(definitions)
      .set({ ...changes, updated_at: sql`now()` })
      .where(fieldCondition(ctx, field_id))
      .returning(columns);
    return toCustomField(row!);
  });
}

/** Removes a field, its bindings, and values on unbound boards. Throws `conflict` while a task of a bound board has a value. */
export function removeCustomField(ctx: Context<Admin>, field_id: string): Promise<void> {
  return transaction(ctx, async (ctx) => {
    const { id, organization_id, field_key } = await lockField(ctx, field_id, "update");
    // A separate statement reads the values. It also sees values that were written while this transaction waited for the lock.
    const [value] = await ctx.db
      .select({ id: values.id })
      .from(values)
      .innerJoin(tasks, eq(tasks.id, values.task_id))
      .where(and(eq(values.definition_id, id), isBound))
      .limit(1);
    if (value) throw new DomainError("conflict", "Cannot delete a custom field definition while task values exist.");
    await ctx.db.delete(definitions).where(fieldCondition(ctx, id));
    await recordAudit(ctx, "custom_field.removed", { organization_id, target: { id, name: field_key }, before: { field_key } });
  });
}

/** Locks a field, so that neither the field nor its values change until the transaction ends. */
async function lockField(ctx: Context<Admin>, field_id: string, strength: "update" | "no key update"): Promise<DefinitionRow> {
  const [row] = await ctx.db
    .select()
    .from(definitions)
    .where(and(fieldCondition(ctx, field_id), actingAs(ctx)))
    .for(strength);
  if (!row) throw notFound();
  return row;
}

/** Selects the boards that belong to the active organization. Admins may bind a field to boards that they cannot read. */
const selectBoards = (ctx: Context<Admin>, board_ids: string[]) =>
  ctx.db
    .select({ id: boards.id })
    .from(boards)
    .where(and(inArray(boards.id, board_ids), eq(boards.organization_id, ctx.actor.active.organization_id)))
    .orderBy(asc(boards.id));

function requireBoardsExist(board_ids: string[], existing: readonly { id: string }[]): void {
  const existing_ids = new Set(existing.map(({ id }) => id));
  const invalid_board_ids = board_ids.filter((id) => !existing_ids.has(id));
  if (invalid_board_ids.length > 0)
    throw new DomainError("invalid", "One or more boards do not exist in this organization.", { fields: { invalid_board_ids } });
}

/** Binds a field to exactly these boards. Returns whether the bindings changed. */
async function replaceBindings(ctx: Context<Admin>, definition_id: string, board_ids: string[]): Promise<boolean> {
  const unbound = await ctx.db
    .delete(bindings)
    .where(and(eq(bindings.definition_id, definition_id), notInArray(bindings.board_id, board_ids)))
    .returning({ id: bindings.id });
  const bound = await ctx.db
    .insert(bindings)
    .values(board_ids.map((board_id) => ({ board_id, definition_id })))
    .onConflictDoNothing()
    .returning({ id: bindings.id });
  return unbound.length + bound.length > 0;
}

function toCustomField(row: DefinitionRow & { board_ids: string[] }): CustomField {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
