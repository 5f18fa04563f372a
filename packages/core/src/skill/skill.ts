import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { recordAudit } from "../audit/record.ts";
import type { Admin } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingFor } from "../db/change-actor.ts";
import { notFound } from "../values/errors.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { truncatable } from "../lists/large-fields.ts";
import { TextOrNull, Id, Instant, MAX_NAME, MAX_TEXT, lazyObject } from "../values/wire.ts";
import { gateway_installed_skills, marketplace_skills } from "../schema/skill.sql.ts";
import { upsertSet } from "./upsert.ts";
import { nameFromUrl, SkillUrl } from "./url.ts";

export const SkillCard = lazyObject(() => ({
  id: Id.describe("Id of the skill."),
  organization_id: Id.describe("Organization that the skill belongs to."),
  name: z.string().describe("Display name."),
  description: z.string().nullable().describe("What the skill is for."),
  category: z.string().nullable().describe("Category according to its pack."),
  risk: z.string().nullable().describe("Risk according to its pack."),
  source: z.string().describe("URL for a link; the same as `source_url`."),
  source_label: z.string().nullable().describe("Path within the pack."),
  source_url: z.string().describe("URL of the skill; unique in the organization."),
  tree_url: z.string().describe("The same as `source_url`."),
  metadata: z
    .record(z.string(), z.unknown())
    .describe("How a sync discovered the skill. `vanished` is true while its pack no longer has it."),
  installed: z.boolean().describe("Whether the main agent of the gateway was asked to install the skill."),
  installed_at: Instant.nullable().describe("When it was first asked to install the skill."),
  created_at: Instant.describe("When the skill was registered."),
  updated_at: Instant.describe("When the skill last changed."),
  ...truncatable,
})).meta({ id: "MarketplaceSkillCard", description: "A skill that gateways can install." });
export type SkillCard = z.infer<typeof SkillCard>;

export const RegisterSkill = lazyObject(() => ({
  source_url: SkillUrl.describe("URL of the skill: https, at a public host."),
  name: TextOrNull(MAX_NAME)
    .default(null)
    .describe("Display name. When omitted, an existing skill keeps its name and a new one is named after its URL."),
  description: TextOrNull(MAX_TEXT).default(null).describe("What the skill is for; an existing description stays when omitted."),
})).meta({ id: "MarketplaceSkillCreate" });
export type RegisterSkill = z.infer<typeof RegisterSkill>;

type Row = typeof marketplace_skills.$inferSelect & { installed_at: Date | null };
export const skillColumns = { ...getTableColumns(marketplace_skills), installed_at: gateway_installed_skills.created_at };

/** Selects skill cards with their installation at a gateway. The default is the organization's gateway, if it has exactly one. */
export function selectSkillCards(
  ctx: Context<Admin>,
  where: SQL | undefined,
  gateway_id: string | undefined,
  columns = skillColumns,
) {
  const { organization_id } = ctx.actor.active;
  const onlyGateway = sql`(select case when count(*) = 1 then min(${gateways.id}::text)::uuid end from ${gateways}
    where ${gateways.organization_id} = ${organization_id})`;
  return ctx.db
    .select(columns)
    .from(marketplace_skills)
    .leftJoin(
      gateway_installed_skills,
      and(
        eq(gateway_installed_skills.skill_id, marketplace_skills.id),
        eq(gateway_installed_skills.gateway_id, gateway_id ?? onlyGateway),
      ),
    )
    .where(and(eq(marketplace_skills.organization_id, organization_id), where));
}

/** Registers a skill by its URL. If the URL is already registered, the name and description that were sent are updated. */
export async function registerSkill(ctx: Context<Admin>, { source_url, name, description }: RegisterSkill): Promise<SkillCard> {
  const sent = { ...(name === null ? {} : { name }), ...(description === null ? {} : { description }) };
  const [row] = await ctx.db
    .insert(marketplace_skills)
    .values({
      name: nameFromUrl(source_url),
      ...sent,
      source_url,
      organization_id: actingFor(ctx, ctx.actor.active.organization_id),
    })
    .onConflictDoUpdate({
      target: [marketplace_skills.organization_id, marketplace_skills.source_url],
      set: upsertSet(marketplace_skills, Object.keys(sent)),
    })
    .returning({ id: marketplace_skills.id });
  return getSkill(ctx, row!.id);
}

export async function getSkill(ctx: Context<Admin>, skill_id: string): Promise<SkillCard> {
  const [row] = await selectSkillCards(ctx, eq(marketplace_skills.id, skill_id), undefined);
  if (!row) throw notFound();
  return toSkillCard(row);
}

/** Removes a skill and, by cascade, the records of its installations. Hosts keep their copies. */
export async function removeSkill(ctx: Context<Admin>, skill_id: string): Promise<void> {
  const { organization_id } = ctx.actor.active;
  await transaction(ctx, async (ctx) => {
    const [removed] = await ctx.db
      .delete(marketplace_skills)
      .where(and(eq(marketplace_skills.id, skill_id), eq(marketplace_skills.organization_id, organization_id)))
      .returning();
    if (!removed) throw notFound();
    const { name, source_url } = removed;
    await recordAudit(ctx, "skill.removed", { organization_id, target: removed, before: { name, source_url } });
  });
}

export function toSkillCard(row: Row): SkillCard {
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
