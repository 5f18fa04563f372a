import { and, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { recordAudit } from "../audit/record.ts";
import type { Admin, Member } from "../context/actor.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs, actingFor } from "../db/change-actor.ts";
import { mapUniqueViolation } from "../db/query-error.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { idKey, lowerCaseKey, type SortOrder, timeKey, toOrderBy } from "../lists/keyset.ts";
import { largeText, truncatable } from "../lists/large-fields.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import {
  TextOrNull,
  Id,
  Instant,
  MAX_NAME,
  MAX_SLUG,
  MAX_TEXT,
  NonEmpty,
  valueError,
  slugify,
  lazyObject,
} from "../values/wire.ts";
import { tag_assignments, tags } from "../schema/tag.sql.ts";
import { listOf } from "../lists/list.ts";
import { filterBy } from "../lists/filter.ts";

export const Tag = lazyObject(() => ({
  id: Id.describe("Id of the tag."),
  organization_id: Id.describe("Organization that the tag belongs to."),
  name: z.string().describe("Display name."),
  slug: z.string().describe("URL-safe name, unique in the organization."),
  color: z.string().describe("Six hex digits in lower case, without `#`."),
  description: z.string().nullable().describe("What the tag means."),
  task_count: z.int().describe("How many tasks have the tag."),
  created_at: Instant.describe("When the tag was created."),
  updated_at: Instant.describe("When the tag last changed."),
  ...truncatable,
})).meta({ id: "Tag", description: "A label for tasks." });
export type Tag = z.infer<typeof Tag>;

export const TagLabel = lazyObject(() => ({
  id: Id.describe("Id of the tag."),
  name: z.string().describe("Display name."),
  slug: z.string().describe("URL-safe name."),
  color: z.string().describe("Six hex digits in lower case, without `#`."),
})).meta({ id: "TagLabel", description: "A tag as it appears on tasks." });
export type TagLabel = z.infer<typeof TagLabel>;

const DEFAULT_COLOR = "9e9e9e";

const Color = z
  .string()
  .trim()
  .regex(/^#?[0-9a-fA-F]{6}$/, valueError("color must be 6 hex digits"))
  .transform((color) => color.replace("#", "").toLowerCase());

export const CreateTag = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("Display name."),
  slug: TextOrNull(MAX_SLUG).default(null).describe("Generated from the name when blank."),
  color: Color.default(DEFAULT_COLOR).describe("Six hex digits; a leading `#` is dropped."),
  description: TextOrNull(MAX_TEXT).default(null).describe("What the tag means."),
})).meta({ id: "TagCreate" });
export type CreateTag = z.infer<typeof CreateTag>;

export const UpdateTag = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).optional().describe("Display name. A new name alone keeps the slug."),
  slug: TextOrNull(MAX_SLUG).optional().describe("Generated from the name when blank."),
  color: Color.optional().describe("Six hex digits; a leading `#` is dropped."),
  description: TextOrNull(MAX_TEXT).optional().describe("What the tag means; blank or null clears it."),
}))
  .refine((sent) => !isEmpty(sent), valueError("At least one field is required"))
  .meta({ id: "TagUpdate" });
export type UpdateTag = z.infer<typeof UpdateTag>;

const slugTakenError = () => new DomainError("conflict", "Tag slug already exists in this organization.");

// The subquery names its tables. In a query of one table, Drizzle would leave the names out, and `id` would then not be the tag's
// id.
const task_count = sql<number>`(select count(*) from ${tag_assignments} where ${tag_assignments}.tag_id = ${tags}.id)`.mapWith(
  Number,
);
const columns = { ...getTableColumns(tags), task_count };
type Row = typeof tags.$inferSelect & { task_count: number };

const tagOrder: SortOrder<Pick<Row, "name" | "created_at" | "id">> = [
  lowerCaseKey(tags.name, ({ name }) => name),
  timeKey(tags.created_at, ({ created_at }) => created_at),
  idKey(tags.id, ({ id }) => id),
];
/** The order of tags in every list. */
export const byName = toOrderBy(tagOrder);

/** Returns a condition on `tags`: whether the tag has this id and belongs to the active organization. */
const tagCondition = (ctx: Context<Member>, tag_id: string) =>
  and(eq(tags.id, tag_id), eq(tags.organization_id, ctx.actor.active.organization_id));

const tagList = listOf({ name: "tags", table: tags, columns, large: { description: largeText }, order: tagOrder });

/** Lists the tags of the active organization, by name. */
export function listTags(ctx: Context<Member>, query: PageQuery): Promise<Page<Tag>> {
  const { organization_id } = ctx.actor.active;
  return tagList.read(ctx, query, {
    owner: organization_id,
    filters: [filterBy("organization_id", organization_id, (id) => eq(tags.organization_id, id))],
    toItem: toTag,
  });
}

export async function getTag(ctx: Context<Member>, tag_id: string): Promise<Tag> {
  const [row] = await ctx.db.select(columns).from(tags).where(tagCondition(ctx, tag_id));
  if (!row) throw notFound();
  return toTag(row);
}

export async function createTag(ctx: Context<Admin>, input: CreateTag): Promise<Tag> {
  const { organization_id } = ctx.actor.active;
  const [row] = await ctx.db
    .insert(tags)
    .values({ ...input, organization_id: actingFor(ctx, organization_id), slug: slugify(input.slug ?? input.name, "tag") })
    .onConflictDoNothing()
    .returning(columns);
  if (!row) throw slugTakenError();
  return toTag(row);
}

export function updateTag(ctx: Context<Admin>, tag_id: string, input: UpdateTag): Promise<Tag> {
  return transaction(ctx, async (ctx) => {
    const condition = tagCondition(ctx, tag_id);
    const [stored] = await ctx.db
      .select(columns)
      .from(tags)
      .where(and(condition, actingAs(ctx)))
      .for("update", { of: tags });
    if (!stored) throw notFound();
    const slug = input.slug === undefined ? stored.slug : slugify(input.slug ?? input.name ?? stored.name, "tag");
    const changes = changedFields(stored, { ...input, slug });
    if (isEmpty(changes)) return toTag(stored);
    const [row] = await mapUniqueViolation({ tags_slug: slugTakenError }, () =>
      ctx.db.update(tags).set(changes).where(condition).returning(columns),
    );
    return toTag(row!);
  });
}

/** Removes the tag. The database also removes it from every task. */
export async function removeTag(ctx: Context<Admin>, tag_id: string): Promise<void> {
  await transaction(ctx, async (ctx) => {
    const condition = and(tagCondition(ctx, tag_id), actingAs(ctx));
    const [removed] = await ctx.db.delete(tags).where(condition).returning();
    if (!removed) throw notFound();
    const { organization_id, name, slug } = removed;
    await recordAudit(ctx, "tag.removed", { organization_id, target: removed, before: { name, slug } });
  });
}

function toTag(row: Row): Tag {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
