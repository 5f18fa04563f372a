import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { mapConflict } from "../db/conflict.ts";
import { DomainError, notFound } from "../errors.ts";
import { Blankable, Id, Instant, JsonObject, MAX_NAME, MAX_TEXT } from "../wire.ts";
import { skill_packs } from "./pack.sql.ts";
import { marketplace_skills } from "./skill.sql.ts";
import { sentOrSame } from "./upsert.ts";
import { nameOfUrl, PackUrl, toBranch } from "./url.ts";

export const SkillPack = z
  .object({
    id: Id.describe("Id of the pack."),
    organization_id: Id.describe("Organization that the pack belongs to."),
    name: z.string().describe("Display name."),
    description: z.string().nullable().describe("What is in the pack."),
    source_url: z.string().describe("Repository of the pack; unique in the organization."),
    branch: z.string().describe("Branch that is read."),
    metadata: z.record(z.string(), z.unknown()).describe("Whatever was stored with the pack."),
    skill_count: z.int().describe("How many skills of the marketplace are from this repository."),
    created_at: Instant.describe("When the pack was registered."),
    updated_at: Instant.describe("When it last changed."),
  })
  .meta({ id: "SkillPack", description: "A repository of skills." });
export type SkillPack = z.infer<typeof SkillPack>;

const fields = {
  source_url: PackUrl.describe("Repository: https://github.com/<owner>/<repository>."),
  name: Blankable(MAX_NAME).default(null),
  description: Blankable(MAX_TEXT).default(null),
  branch: z.string().nullable().transform(toBranch),
  metadata: JsonObject,
};

export const CreatePack = z
  .object({
    source_url: fields.source_url,
    name: fields.name.describe("Display name; a new pack without one is named after its repository."),
    description: fields.description.describe("What is in the pack."),
    branch: fields.branch.optional().describe("Branch to read; `main` when left out of a new pack, or not usable."),
    metadata: fields.metadata.optional().describe("Any object to store with the pack."),
  })
  .meta({ id: "SkillPackCreate", description: "Of a pack that is there, what is left out stays." });
export type CreatePack = z.infer<typeof CreatePack>;

export const ReplacePack = z
  .object({
    source_url: fields.source_url,
    name: fields.name.describe("Display name; made from the repository's when left out."),
    description: fields.description.describe("What is in the pack; cleared when left out."),
    branch: fields.branch.default(toBranch(null)).describe("Branch to read; `main` when left out, or not usable."),
    metadata: fields.metadata.default({}).describe("Any object to store with the pack; emptied when left out."),
  })
  .meta({ id: "SkillPackUpdate", description: "Replaces the pack as a whole." });
export type ReplacePack = z.infer<typeof ReplacePack>;

/** Packs that a new personal organization starts with. */
const SEEDED = [
  { name: "Antigravity Awesome Skills", source_url: "https://github.com/sickn33/antigravity-awesome-skills" },
  { name: "AI Marketing Skills", source_url: "https://github.com/BrianRWagner/ai-marketing-skills" },
];

// Counted by the index marketplace_skills_by_repository.
const skill_count = sql<number>`(select count(*) from ${marketplace_skills}
  where ${marketplace_skills}.organization_id = ${skill_packs}.organization_id
    and split_part(${marketplace_skills}.source_url, '/tree/', 1) = ${skill_packs}.source_url)`.mapWith(Number);
const columns = { ...getTableColumns(skill_packs), skill_count };
type Row = typeof skill_packs.$inferSelect & { skill_count: number };

const own = (ctx: Context<Admin>, pack_id: string) =>
  and(eq(skill_packs.id, pack_id), eq(skill_packs.organization_id, ctx.actor.active.organization_id));

/** The packs of the active organization, newest first. */
export async function listPacks(ctx: Context<Admin>): Promise<SkillPack[]> {
  const rows = await ctx.db
    .select(columns)
    .from(skill_packs)
    .where(eq(skill_packs.organization_id, ctx.actor.active.organization_id))
    .orderBy(desc(skill_packs.created_at), desc(skill_packs.id));
  return rows.map(toPack);
}

export async function getPack(ctx: Context<Admin>, pack_id: string): Promise<SkillPack> {
  const [row] = await ctx.db.select(columns).from(skill_packs).where(own(ctx, pack_id));
  if (!row) throw notFound();
  return toPack(row);
}

/** Registers a pack by its repository; one that is there takes what was given. */
export async function createPack(ctx: Context<Admin>, input: CreatePack): Promise<SkillPack> {
  const { source_url } = input;
  const { name, description, branch, metadata } = input;
  const given = {
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
    ...(branch === undefined ? {} : { branch }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  const [row] = await ctx.db
    .insert(skill_packs)
    .values({ name: nameOfUrl(source_url), ...given, source_url, organization_id: ctx.actor.active.organization_id })
    .onConflictDoUpdate({
      target: [skill_packs.organization_id, skill_packs.source_url],
      set: sentOrSame(skill_packs, Object.keys(given)),
    })
    .returning(columns);
  return toPack(row!);
}

/** Replaces a pack. Its skills stay as they are until the next sync. */
export function replacePack(ctx: Context<Admin>, pack_id: string, input: ReplacePack): Promise<SkillPack> {
  return transaction(ctx, async (ctx) => {
    const [stored] = await ctx.db.select(columns).from(skill_packs).where(own(ctx, pack_id)).for("update", { of: skill_packs });
    if (!stored) throw notFound();
    const changes = changesOf(stored, { ...input, name: input.name ?? nameOfUrl(input.source_url) });
    if (isEmpty(changes)) return toPack(stored);
    const taken = () => new DomainError("conflict", "A pack of this repository already exists.");
    const [row] = await mapConflict({ skill_packs_url: taken }, () =>
      ctx.db.update(skill_packs).set(changes).where(own(ctx, pack_id)).returning(columns),
    );
    return toPack(row!);
  });
}

/** Removes a pack. Its skills stay. */
export async function removePack(ctx: Context<Admin>, pack_id: string): Promise<void> {
  const removed = await ctx.db.delete(skill_packs).where(own(ctx, pack_id)).returning({ id: skill_packs.id });
  if (removed.length === 0) throw notFound();
}

/** Registers the default packs of an organization; those it has stay as they are. */
export async function seedPacks(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db
    .insert(skill_packs)
    .values(SEEDED.map((pack) => ({ ...pack, organization_id })))
    .onConflictDoNothing();
}

function toPack(row: Row): SkillPack {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
