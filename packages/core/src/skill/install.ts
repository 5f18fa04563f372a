import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { type Admin, mainSessionKey } from "../actor.ts";
import { atHost, hostFailure, requireUsable, sendAtHost, unavailable } from "../agent/coordination/host.ts";
import type { Context } from "../context.ts";
import { DomainError, notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { Id } from "../wire.ts";
import { type SkillOrder, skillOrderText } from "./message.ts";
import { gateway_installed_skills, marketplace_skills } from "./skill.sql.ts";

export const InstallQuery = z.object({ gateway_id: Id.describe("Gateway whose main agent does it.") });

export const SkillInstallation = z
  .object({
    ok: z.literal(true).describe("The main agent was told."),
    skill_id: Id.describe("Id of the skill."),
    gateway_id: Id.describe("Id of the gateway."),
    installed: z.boolean().describe("Whether the skill is to be there now."),
  })
  .meta({ id: "MarketplaceSkillActionResponse", description: "What a gateway's main agent was told to do with a skill." });
export type SkillInstallation = z.infer<typeof SkillInstallation>;

/** The session of a main agent has this label, whatever the agent is called. */
const LABEL = "Gateway Agent";

/** Has the main agent of a gateway install a skill. Recorded once the agent has the message; repeats bring the skill up to date. */
export async function installSkill(ctx: Context<Admin>, skill_id: string, gateway_id: string): Promise<SkillInstallation> {
  await order(ctx, "install", skill_id, gateway_id);
  await ctx.db
    .insert(gateway_installed_skills)
    .values({ gateway_id, skill_id })
    .onConflictDoUpdate({
      target: [gateway_installed_skills.gateway_id, gateway_installed_skills.skill_id],
      set: { updated_at: sql`now()` },
    });
  return { ok: true, skill_id, gateway_id, installed: true };
}

/** Has the main agent of a gateway remove a skill, whether or not it was told to install it. */
export async function uninstallSkill(ctx: Context<Admin>, skill_id: string, gateway_id: string): Promise<SkillInstallation> {
  await order(ctx, "uninstall", skill_id, gateway_id);
  await ctx.db
    .delete(gateway_installed_skills)
    .where(and(eq(gateway_installed_skills.gateway_id, gateway_id), eq(gateway_installed_skills.skill_id, skill_id)));
  return { ok: true, skill_id, gateway_id, installed: false };
}

/** Tells the main agent, while somebody waits. Throws before anything is recorded when its host does not take the message. */
async function order(ctx: Context<Admin>, what: SkillOrder, skill_id: string, gateway_id: string): Promise<void> {
  const [found] = await ctx.db
    .select({ gateway: gateways, skill: marketplace_skills })
    .from(gateways)
    .innerJoin(marketplace_skills, eq(marketplace_skills.organization_id, gateways.organization_id))
    .where(
      and(
        eq(gateways.id, gateway_id),
        eq(gateways.organization_id, ctx.actor.active.organization_id),
        eq(marketplace_skills.id, skill_id),
      ),
    );
  if (!found) throw notFound();
  const { gateway, skill } = found;
  if (!gateway.workspace_root.trim()) throw new DomainError("invalid", "Gateway workspace_root is required");
  requireUsable(gateway);
  const message = {
    session_key: mainSessionKey(gateway.id),
    label: LABEL,
    message: skillOrderText(what, skill, gateway),
    deliver: true,
  };
  const failure = await hostFailure(() => atHost(ctx, gateway, (host) => sendAtHost(ctx, host, message)));
  if (failure) throw unavailable(`Gateway skill ${what} failed:`, failure);
}
