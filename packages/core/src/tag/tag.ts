import { and, asc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin, Member } from "../actor.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { mapConflict } from "../db/conflict.ts";
import { DomainError, notFound } from "../errors.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { Blankable, Id, Instant, MAX_NAME, MAX_SLUG, MAX_TEXT, NonEmpty, rule, slugify } from "../wire.ts";
import { tag_assignments, tags } from "./tag.sql.ts";

export const Tag = z
  .object({
    id: Id.describe("Id of the tag."),
    organization_id: Id.describe("Organization that the tag belongs to."),
    name: z.string().describe("Display name."),
    slug: z.string().describe("URL-safe name, unique in the organization."),
    color: z.string().describe("Six hex digits in lower case, without `#`."),
    description: z.string().nullable().describe("What the tag stands for."),
    task_count: z.int().describe("How many tasks carry the tag."),
    created_at: Instant.describe("When the tag was made."),
    updated_at: Instant.describe("When the tag last changed."),
  })
  .meta({ id: "Tag", description: "A label for tasks." });
export type Tag = z.infer<typeof Tag>;

export const TagLabel = z
  .object({
    id: Id.describe("Id of the tag."),
    name: z.string().describe("Display name."),
    slug: z.string().describe("URL-safe name."),
    color: z.string().describe("Six hex digits in lower case, without `#`."),
  })
  .meta({ id: "TagLabel", description: "A tag as tasks show it." });
export type TagLabel = z.infer<typeof TagLabel>;

const DEFAULT_COLOR = "9e9e9e";

const Color = z
  .string()
  .trim()
  .regex(/^#?[0-9a-fA-F]{6}$/, rule("color must be 6 hex digits"))
  .transform((color) => color.replace("#", "").toLowerCase());

export const CreateTag = z
  .object({
    name: NonEmpty(MAX_NAME).describe("Display name."),
    slug: Blankable(MAX_SLUG).default(null).describe("Made from the name when blank."),
    color: Color.default(DEFAULT_COLOR).describe("Six hex digits; a leading `#` is dropped."),
    description: Blankable(MAX_TEXT).default(null).describe("What the tag stands for."),
  })
  .meta({ id: "TagCreate" });
export type CreateTag = z.infer<typeof CreateTag>;

export const UpdateTag = z
  .object({
    name: NonEmpty(MAX_NAME).optional().describe("Display name; the slug stays."),
    slug: Blankable(MAX_SLUG).optional().describe("Blank: made from the name."),
    color: Color.optional().describe("Six hex digits; a leading `#` is dropped."),
    description: Blankable(MAX_TEXT).optional().describe("Blank or null clears it."),
  })
  .refine((sent) => !isEmpty(sent), rule("At least one field is required"))
  .meta({ id: "TagUpdate" });
export type UpdateTag = z.infer<typeof UpdateTag>;

const slugTaken = () => new DomainError("conflict", "Tag slug already exists in this organization.");

// Tables are named in subqueries: in a query over one table Drizzle writes columns bare, and a bare one would be the inner table's.
const task_count = sql<number>`(select count(*) from ${tag_assignments} where ${tag_assignments}.tag_id = ${tags}.id)`.mapWith(
  Number,
);
const columns = { ...getTableColumns(tags), task_count };
type Row = typeof tags.$inferSelect & { task_count: number };

/** The tags of the active organization by name. */
export function listTags(ctx: Context<Member>, query: PageQuery): Promise<Page<Tag>> {
  const own = eq(tags.organization_id, ctx.actor.active.organization_id);
  const total = ctx.db.$count(tags, own);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: columns, total })
        .from(tags)
        .where(own)
        .orderBy(asc(sql`lower(${tags.name})`), asc(tags.created_at), asc(tags.id))
        .limit(limit)
        .offset(offset),
    toTag,
  );
}

export async function getTag(ctx: Context<Member>, tag_id: string): Promise<Tag> {
  const [row] = await ctx.db
    .select(columns)
    .from(tags)
    .where(and(eq(tags.id, tag_id), eq(tags.organization_id, ctx.actor.active.organization_id)));
  if (!row) throw notFound();
  return toTag(row);
}

export async function createTag(ctx: Context<Admin>, input: CreateTag): Promise<Tag> {
  const { organization_id } = ctx.actor.active;
  const [row] = await ctx.db
    .insert(tags)
    .values({ ...input, organization_id, slug: slugify(input.slug ?? input.name, "tag") })
    .onConflictDoNothing()
    .returning(columns);
  if (!row) throw slugTaken();
  return toTag(row);
}

export function updateTag(ctx: Context<Admin>, tag_id: string, input: UpdateTag): Promise<Tag> {
  return transaction(ctx, async (ctx) => {
    const own = and(eq(tags.id, tag_id), eq(tags.organization_id, ctx.actor.active.organization_id));
    const [stored] = await ctx.db.select(columns).from(tags).where(own).for("update", { of: tags });
    if (!stored) throw notFound();
    const slug = input.slug === undefined ? stored.slug : slugify(input.slug ?? input.name ?? stored.name, "tag");
    const changes = changesOf(stored, { ...input, slug });
    if (isEmpty(changes)) return toTag(stored);
    const [row] = await mapConflict({ tags_slug: slugTaken }, () =>
      ctx.db.update(tags).set(changes).where(own).returning(columns),
    );
    return toTag(row!);
  });
}

/** Removes the tag, and by cascade its place on every task. */
export async function removeTag(ctx: Context<Admin>, tag_id: string): Promise<void> {
  const removed = await ctx.db
    .delete(tags)
    .where(and(eq(tags.id, tag_id), eq(tags.organization_id, ctx.actor.active.organization_id)))
    .returning({ id: tags.id });
  if (removed.length === 0) throw notFound();
}

function toTag(row: Row): Tag {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
