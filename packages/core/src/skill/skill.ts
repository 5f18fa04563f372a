import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { Blankable, Id, Instant, MAX_NAME, MAX_TEXT } from "../wire.ts";
import { gateway_installed_skills, marketplace_skills } from "./skill.sql.ts";
import { sentOrSame } from "./upsert.ts";
import { nameOfUrl, SkillUrl } from "./url.ts";

export const SkillCard = z
  .object({
    id: Id.describe("Id of the skill."),
    organization_id: Id.describe("Organization that the skill belongs to."),
    name: z.string().describe("Display name."),
    description: z.string().nullable().describe("What the skill is for."),
    category: z.string().nullable().describe("Category that its pack names."),
    risk: z.string().nullable().describe("Risk that its pack names."),
    source: z.string().describe("Where a link leads; the same as `source_url`."),
    source_label: z.string().nullable().describe("Path in a pack."),
    source_url: z.string().describe("Where the skill is to be had; unique in the organization."),
    tree_url: z.string().describe("The same as `source_url`."),
    metadata: z
      .record(z.string(), z.unknown())
      .describe("How a sync found it. `vanished` is true while its pack has it no more."),
    installed: z.boolean().describe("Whether the main agent of the gateway was told to install it."),
    installed_at: Instant.nullable().describe("When it was first told so."),
    created_at: Instant.describe("When the skill was registered."),
    updated_at: Instant.describe("When it last changed."),
  })
  .meta({ id: "MarketplaceSkillCard", description: "A skill that gateways can install." });
export type SkillCard = z.infer<typeof SkillCard>;

export const RegisterSkill = z
  .object({
    source_url: SkillUrl.describe("Where the skill is to be had: https, at a public host."),
    name: Blankable(MAX_NAME)
      .default(null)
      .describe("Display name. Left out: that of a skill that is there stays, a new one is named after its url."),
    description: Blankable(MAX_TEXT).default(null).describe("What the skill is for. Left out: what is there stays."),
  })
  .meta({ id: "MarketplaceSkillCreate" });
export type RegisterSkill = z.infer<typeof RegisterSkill>;

type Row = typeof marketplace_skills.$inferSelect & { installed_at: Date | null };

/** Cards, with whether they are installed at a gateway; without an id at the organization's only one, if there is only one. */
export function selectCards(ctx: Context<Admin>, where: SQL | undefined, gateway_id: string | undefined) {
  const { organization_id } = ctx.actor.active;
  const only = sql`(select case when count(*) = 1 then min(${gateways.id}::text)::uuid end from ${gateways}
    where ${gateways.organization_id} = ${organization_id})`;
  return ctx.db
    .select({ ...getTableColumns(marketplace_skills), installed_at: gateway_installed_skills.created_at })
    .from(marketplace_skills)
    .leftJoin(
      gateway_installed_skills,
      and(
        eq(gateway_installed_skills.skill_id, marketplace_skills.id),
        eq(gateway_installed_skills.gateway_id, gateway_id ?? only),
      ),
    )
    .where(and(eq(marketplace_skills.organization_id, organization_id), where));
}

/** Registers a skill by its url; one that is there takes the name and the description that were given. */
export async function registerSkill(ctx: Context<Admin>, { source_url, name, description }: RegisterSkill): Promise<SkillCard> {
  const given = { ...(name === null ? {} : { name }), ...(description === null ? {} : { description }) };
  const [row] = await ctx.db
    .insert(marketplace_skills)
    .values({ name: nameOfUrl(source_url), ...given, source_url, organization_id: ctx.actor.active.organization_id })
    .onConflictDoUpdate({
      target: [marketplace_skills.organization_id, marketplace_skills.source_url],
      set: sentOrSame(marketplace_skills, Object.keys(given)),
    })
    .returning({ id: marketplace_skills.id });
  return getSkill(ctx, row!.id);
}

export async function getSkill(ctx: Context<Admin>, skill_id: string): Promise<SkillCard> {
  const [row] = await selectCards(ctx, eq(marketplace_skills.id, skill_id), undefined);
  if (!row) throw notFound();
  return toCard(row);
}

/** Removes a skill, and by cascade what is known of its installations. Hosts that have it keep it. */
export async function removeSkill(ctx: Context<Admin>, skill_id: string): Promise<void> {
  const removed = await ctx.db
    .delete(marketplace_skills)
    .where(and(eq(marketplace_skills.id, skill_id), eq(marketplace_skills.organization_id, ctx.actor.active.organization_id)))
    .returning({ id: marketplace_skills.id });
  if (removed.length === 0) throw notFound();
}

export function toCard(row: Row): SkillCard {
  return {
    ...row,
    source: row.source_url,
    tree_url: row.source_url,
    installed: row.installed_at !== null,
    installed_at: row.installed_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
