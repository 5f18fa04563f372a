import { randomUUID } from "node:crypto";
import { and, asc, eq, getTableColumns, inArray, notInArray, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin, Member } from "../actor.ts";
import { boards } from "../board/board.sql.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { mapConflict } from "../db/conflict.ts";
import { DomainError, notFound } from "../errors.ts";
import { Blankable, Id, Instant, MAX_IDS, MAX_NAME, MAX_SLUG, MAX_TEXT, NonEmpty, rule } from "../wire.ts";
import {
  board_task_custom_fields as bindings,
  task_custom_field_definitions as definitions,
  task_custom_field_values as values,
} from "./custom-field.sql.ts";
import { checkRule, FieldType, FieldTypeIn, Visibility, VisibilityIn } from "./custom-field-type.ts";
import { checkStoredValues, isBound } from "./custom-field-value.ts";
import { tasks } from "./task.sql.ts";

const MAX_REGEX = 500;

export const CustomField = z
  .object({
    id: Id.describe("Id of the field."),
    organization_id: Id.describe("Organization that the field belongs to."),
    field_key: z.string().describe("Key of the field's values on tasks, unique in the organization."),
    label: z.string().describe("Display name."),
    field_type: FieldType.describe("What its values are."),
    ui_visibility: Visibility.describe("When the field is shown."),
    validation_regex: z.string().nullable().describe("Pattern that a text must match as a whole."),
    description: z.string().nullable().describe("What the field is for."),
    required: z.boolean().describe("Whether a task must have a value that is not null."),
    default_value: z.unknown().nullable().describe("Value of tasks that have none of their own."),
    board_ids: z.array(Id).describe("Boards whose tasks have the field, in order of id."),
    created_at: Instant.describe("When the field was made."),
    updated_at: Instant.describe("When the field last changed."),
  })
  .meta({ id: "CustomField", description: "A field that tasks of some boards have beside the usual ones." });
export type CustomField = z.infer<typeof CustomField>;

const BoardIds = z
  .array(Id)
  .min(1)
  .max(MAX_IDS)
  .transform((ids) => [...new Set(ids)]);

/** Blank means none; otherwise it is kept to the letter, for blanks are part of a pattern. */
const Pattern = z
  .string()
  .max(MAX_REGEX)
  .nullable()
  .transform((text) => (text?.trim() ? text : null))
  .describe("RE2 pattern that a text must match as a whole; for text, text_long, date, date_time and url.");

const fields = {
  field_type: FieldTypeIn.describe("What its values are."),
  ui_visibility: VisibilityIn.describe("When the field is shown."),
  description: Blankable(MAX_TEXT).describe("What the field is for."),
  required: z.boolean().describe("Whether a task must have a value that is not null."),
  default_value: z.unknown().describe("Value of tasks that have none of their own; null for none."),
};

export const CreateCustomField = z
  .object({
    field_key: NonEmpty(MAX_SLUG)
      // Objects of JavaScript cannot carry this key as a plain one.
      .refine((key) => key !== "__proto__", rule("field_key must not be __proto__"))
      .describe("Key of the field's values on tasks. It cannot be changed."),
    label: NonEmpty(MAX_NAME).optional().describe("Display name; the key when absent."),
    field_type: fields.field_type.default("text"),
    ui_visibility: fields.ui_visibility.default("always"),
    validation_regex: Pattern.default(null),
    description: fields.description.default(null),
    required: fields.required.default(false),
    default_value: fields.default_value.default(null),
    board_ids: BoardIds.describe("Boards whose tasks have the field."),
  })
  .meta({ id: "CustomFieldCreate" });
export type CreateCustomField = z.infer<typeof CreateCustomField>;

export const UpdateCustomField = z
  .object({
    field_key: z.never(rule("field_key cannot be changed after creation.")).optional().describe("Cannot be changed."),
    label: NonEmpty(MAX_NAME).optional().describe("Display name."),
    field_type: fields.field_type.optional().describe("What its values are; those stored must fit."),
    ui_visibility: fields.ui_visibility.optional(),
    validation_regex: Pattern.optional().describe("RE2 pattern that a text must match as a whole; those stored must fit."),
    description: fields.description.optional(),
    required: fields.required.optional(),
    default_value: fields.default_value.optional(),
    board_ids: BoardIds.optional().describe("Boards whose tasks have the field, in place of the present ones."),
  })
  .refine((sent) => !isEmpty(sent), rule("At least one field is required"))
  .meta({ id: "CustomFieldUpdate" });
export type UpdateCustomField = z.infer<typeof UpdateCustomField>;

const board_ids = sql<string[]>`coalesce((
  select jsonb_agg(bound.board_id order by bound.board_id) from ${bindings} as bound
  where bound.definition_id = ${definitions}.id), '[]')`;
const columns = { ...getTableColumns(definitions), board_ids };
type DefinitionRow = typeof definitions.$inferSelect;

const ownField = (ctx: Context<Member>, field_id: string) =>
  and(eq(definitions.id, field_id), eq(definitions.organization_id, ctx.actor.active.organization_id));

/** The custom fields of the active organization by label. */
export async function listCustomFields(ctx: Context<Member>): Promise<CustomField[]> {
  const rows = await ctx.db
    .select(columns)
    .from(definitions)
    .where(eq(definitions.organization_id, ctx.actor.active.organization_id))
    .orderBy(asc(sql`lower(${definitions.label})`), asc(definitions.id));
  return rows.map(toCustomField);
}

export async function getCustomField(ctx: Context<Member>, field_id: string): Promise<CustomField> {
  const [row] = await ctx.db.select(columns).from(definitions).where(ownField(ctx, field_id));
  if (!row) throw notFound();
  return toCustomField(row);
}

/** Throws `invalid` for boards of nobody or of others and for a pattern or default that cannot be, `conflict` for a taken key. */
export async function createCustomField(ctx: Context<Admin>, input: CreateCustomField): Promise<CustomField> {
  const { board_ids, ...sent } = input;
  const { organization_id } = ctx.actor.active;
  requireBoards(board_ids, await ownBoards(ctx, board_ids));
  await checkRule(sent);
  const id = randomUUID();
  const made = ctx.db.$with("made").as(
    ctx.db
      .insert(definitions)
      .values({ ...sent, id, organization_id, label: sent.label ?? sent.field_key })
      .returning(),
  );
  const bound = ctx.db.$with("bound").as(
    ctx.db
      .insert(bindings)
      .values(board_ids.map((board_id) => ({ board_id, definition_id: id })))
      .returning({ id: bindings.id }),
  );
  const keyTaken = () => new DomainError("conflict", "Field key already exists in this organization.");
  const [row] = await mapConflict({ task_custom_field_definitions_key: keyTaken }, () =>
    ctx.db.with(made, bound).select().from(made),
  );
  return toCustomField({ ...row!, board_ids: board_ids.toSorted() });
}

/**
 * Throws `invalid` like the creation, and `conflict` when values of tasks do not fit a new type or pattern. Tasks of boards
 * that lose the field keep their values, out of sight.
 */
export function updateCustomField(ctx: Context<Admin>, field_id: string, input: UpdateCustomField): Promise<CustomField> {
  const { board_ids, field_key: _, ...sent } = input;
  return transaction(ctx, async (ctx) => {
    // Boards are held before the field, as by whoever creates a task.
    const found = board_ids ? await ownBoards(ctx, board_ids).for("key share") : [];
    const stored = await lockField(ctx, field_id, "no key update");
    if (board_ids) requireBoards(board_ids, found);
    const changes = changesOf(stored, sent);
    const changed = { ...stored, ...changes };
    const isNewRule = changes.field_type !== undefined || changes.validation_regex !== undefined;
    if (isNewRule || changes.default_value !== undefined) await checkRule(changed);
    const isRebound = board_ids !== undefined && (await bind(ctx, stored.id, board_ids));
    if (isNewRule) await checkStoredValues(ctx, stored.id, changed);
    if (isEmpty(changes) && !isRebound) return getCustomField(ctx, field_id);
    const [row] = await ctx.db
      .update(definitions)
      .set({ ...changes, updated_at: sql`now()` })
      .where(ownField(ctx, field_id))
      .returning(columns);
    return toCustomField(row!);
  });
}

/** Removes a field with its bindings and the values that no bound board shows; `conflict` while a bound board's task has one. */
export function removeCustomField(ctx: Context<Admin>, field_id: string): Promise<void> {
  return transaction(ctx, async (ctx) => {
    const { id } = await lockField(ctx, field_id, "update");
    // A statement of its own: values that were written while the lock was waited for are seen only by a later one.
    const [value] = await ctx.db
      .select({ id: values.id })
      .from(values)
      .innerJoin(tasks, eq(tasks.id, values.task_id))
      .where(and(eq(values.definition_id, id), isBound))
      .limit(1);
    if (value) throw new DomainError("conflict", "Cannot delete a custom field definition while task values exist.");
    await ctx.db.delete(definitions).where(ownField(ctx, id));
  });
}

/** A field, held against those who write values of it and those who change it. */
async function lockField(ctx: Context<Admin>, field_id: string, how: "update" | "no key update"): Promise<DefinitionRow> {
  const [row] = await ctx.db.select().from(definitions).where(ownField(ctx, field_id)).for(how);
  if (!row) throw notFound();
  return row;
}

/** Those of the boards that the active organization has. Boards are named by admins, who need no access to them for it. */
const ownBoards = (ctx: Context<Admin>, board_ids: string[]) =>
  ctx.db
    .select({ id: boards.id })
    .from(boards)
    .where(and(inArray(boards.id, board_ids), eq(boards.organization_id, ctx.actor.active.organization_id)))
    .orderBy(asc(boards.id));

function requireBoards(wanted: string[], found: readonly { id: string }[]): void {
  const known = new Set(found.map(({ id }) => id));
  const invalid_board_ids = wanted.filter((id) => !known.has(id));
  if (invalid_board_ids.length > 0)
    throw new DomainError("invalid", "One or more boards do not exist in this organization.", { fields: { invalid_board_ids } });
}

/** Gives a field to these boards and to no others; false when that is so already. */
async function bind(ctx: Context<Admin>, definition_id: string, board_ids: string[]): Promise<boolean> {
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
