import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { recordAudit } from "../audit/record.ts";
import type { Admin } from "../context/actor.ts";
import { changedFields, isEmpty, isSameInOrder } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs, actingFor } from "../db/change-actor.ts";
import { mapUniqueViolation } from "../db/query-error.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { largeObject, largeText, readShortened, toShortened, truncatable } from "../lists/large-fields.ts";
import { type ArrayQuery, arrayLimit } from "../lists/page.ts";
import { TextOrNull, Id, Instant, JsonObject, MAX_NAME, MAX_TEXT, lazyObject } from "../values/wire.ts";
import { skill_packs } from "../schema/skill-pack.sql.ts";
import { marketplace_skills } from "../schema/skill.sql.ts";
import { upsertSet } from "./upsert.ts";
import { nameFromUrl, PackUrl, toBranch } from "./url.ts";

export const SkillPack = lazyObject(() => ({
  id: Id.describe("Id of the pack."),
  organization_id: Id.describe("Organization that the pack belongs to."),
  name: z.string().describe("Display name."),
  description: z.string().nullable().describe("What is in the pack."),
  source_url: z.string().describe("URL of the pack's repository; unique in the organization."),
  branch: z.string().describe("Branch that is read."),
  metadata: z.record(z.string(), z.unknown()).describe("The object that was stored with the pack."),
  skill_count: z.int().describe("Number of skills in the marketplace that are from this repository."),
  created_at: Instant.describe("When the pack was registered."),
  updated_at: Instant.describe("When it last changed."),
  ...truncatable,
})).meta({ id: "SkillPack", description: "A repository of skills." });
export type SkillPack = z.infer<typeof SkillPack>;

const Fields = lazyObject(() => ({
  source_url: PackUrl.describe("URL of the repository: https://github.com/<owner>/<repository>."),
  name: TextOrNull(MAX_NAME).default(null),
  description: TextOrNull(MAX_TEXT).default(null),
  branch: z.string().nullable().transform(toBranch),
  metadata: JsonObject,
}));

export const CreatePack = lazyObject(() => ({
  source_url: Fields.shape.source_url,
  name: Fields.shape.name.describe("Display name; a new pack without one is named after its repository."),
  description: Fields.shape.description.describe("What is in the pack."),
  branch: Fields.shape.branch
    .optional()
    .describe("Branch to read; `main` when it is omitted for a new pack or is not a valid name."),
  metadata: Fields.shape.metadata.optional().describe("Any object to store with the pack."),
})).meta({ id: "SkillPackCreate", description: "For a pack that already exists, omitted fields stay unchanged." });
export type CreatePack = z.infer<typeof CreatePack>;

export const ReplacePack = lazyObject(() => ({
  source_url: Fields.shape.source_url,
  name: Fields.shape.name.describe("Display name; derived from the repository's name when omitted."),
  description: Fields.shape.description.describe("What is in the pack; cleared when omitted."),
  branch: Fields.shape.branch
    .default(toBranch(null))
    .describe("Branch to read; `main` when it is omitted or is not a valid name."),
  metadata: Fields.shape.metadata.default({}).describe("Any object to store with the pack; emptied when omitted."),
})).meta({ id: "SkillPackUpdate", description: "Replaces the pack as a whole." });
export type ReplacePack = z.infer<typeof ReplacePack>;

/** Packs that every new personal organization gets. */
const DEFAULT_PACKS = [
  { name: "Antigravity Awesome Skills", source_url: "https://github.com/sickn33/antigravity-awesome-skills" },
  { name: "AI Marketing Skills", source_url: "https://github.com/BrianRWagner/ai-marketing-skills" },
];

// The index marketplace_skills_by_repository makes this count fast.
const skill_count = sql<number>`(select count(*) from ${marketplace_skills}
  where ${marketplace_skills}.organization_id = ${skill_packs}.organization_id
    and split_part(${marketplace_skills}.source_url, '/tree/', 1) = ${skill_packs}.source_url)`.mapWith(Number);
const columns = { ...getTableColumns(skill_packs), skill_count };
const LARGE_PACK_FIELDS = { description: largeText, metadata: largeObject };
const MIN_PACK_BYTES = 300;
type PackRowWithCount = typeof skill_packs.$inferSelect & { skill_count: number };

const isOwnPack = (ctx: Context<Admin>, pack_id: string) =>
  and(eq(skill_packs.id, pack_id), eq(skill_packs.organization_id, ctx.actor.active.organization_id));

/** Lists the packs of the active organization, newest first. */
export async function listPacks(ctx: Context<Admin>, query: ArrayQuery): Promise<SkillPack[]> {
  const max_rows = arrayLimit(ctx, MIN_PACK_BYTES, query);
  const rows = await readShortened(ctx, { fields: columns, large: LARGE_PACK_FIELDS, max_rows }, (columns) =>
    ctx.db
      .select(columns)
      .from(skill_packs)
      .where(eq(skill_packs.organization_id, ctx.actor.active.organization_id))
      .orderBy(desc(skill_packs.created_at), desc(skill_packs.id))
      .limit(max_rows)
      .offset(query.offset),
  );
  return rows.map((row) => toShortened(row, toPack));
}

export async function getPack(ctx: Context<Admin>, pack_id: string): Promise<SkillPack> {
  const [row] = await ctx.db.select(columns).from(skill_packs).where(isOwnPack(ctx, pack_id));
  if (!row) throw notFound();
  return toPack(row);
}

/** Registers a pack by its repository. If the repository is already registered, the fields that were sent are updated. */
export async function createPack(ctx: Context<Admin>, input: CreatePack): Promise<SkillPack> {
  const { source_url } = input;
  const { name, description, branch, metadata } = input;
  const sent = {
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
    ...(branch === undefined ? {} : { branch }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  const [row] = await ctx.db
    .insert(skill_packs)
    .values({
      name: nameFromUrl(source_url),
      ...sent,
      source_url,
      organization_id: actingFor(ctx, ctx.actor.active.organization_id),
    })
    .onConflictDoUpdate({
      target: [skill_packs.organization_id, skill_packs.source_url],
      set: upsertSet(skill_packs, Object.keys(sent)),
    })
    .returning(columns);
  return toPack(row!);
}

/** Replaces a pack. Its skills do not change until the next sync. */
export function replacePack(ctx: Context<Admin>, pack_id: string, input: ReplacePack): Promise<SkillPack> {
  return transaction(ctx, async (ctx) => {
    const [stored] = await ctx.db
      .select(columns)
      .from(skill_packs)
      .where(isOwnPack(ctx, pack_id))
      .for("update", { of: skill_packs });
    if (!stored) throw notFound();
    const changes = changedFields(stored, { ...input, name: input.name ?? nameFromUrl(input.source_url) }, isSameInOrder);
    if (isEmpty(changes)) return toPack(stored);
    const alreadyRegistered = () => new DomainError("conflict", "A pack of this repository already exists.");
    const [row] = await mapUniqueViolation({ skill_packs_url: alreadyRegistered }, () =>
      ctx.db
        .update(skill_packs)
        .set(changes)
        .where(and(isOwnPack(ctx, pack_id), actingAs(ctx)))
        .returning(columns),
    );
    return toPack(row!);
  });
}

/** Removes a pack. Its skills are kept. */
export async function removePack(ctx: Context<Admin>, pack_id: string): Promise<void> {
  await transaction(ctx, async (ctx) => {
    const [removed] = await ctx.db.delete(skill_packs).where(isOwnPack(ctx, pack_id)).returning();
    if (!removed) throw notFound();
    const { organization_id, name, source_url } = removed;
    await recordAudit(ctx, "skill_pack.removed", { organization_id, target: removed, before: { name, source_url } });
  });
}

/** Registers the default packs in an organization. Existing packs do not change. */
export async function seedPacks(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db
    .insert(skill_packs)
    .values(DEFAULT_PACKS.map((pack) => ({ ...pack, organization_id })))
    .onConflictDoNothing();
}

function toPack(row: PackRowWithCount): SkillPack {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
