import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { type Admin, mainSessionKey } from "@board/core/context/actor";
import { requireUsableGateway } from "@board/core/gateway/target";
import { catchGatewayError } from "../wire/gateway-error.ts";
import { INTERACTIVE_TIMEOUT_MS, withInteractiveHost, sendOnHost, toUnavailable } from "../gateway/interactive-call.ts";
import type { Context } from "@board/core/context/context";
import { DomainError, notFound } from "@board/core/values/errors";
import { gateways } from "@board/core/schema/gateway.sql";
import { Id, lazyObject } from "@board/core/values/wire";
import { type SkillAction, skillActionText } from "./message.ts";
import { gateway_installed_skills, marketplace_skills } from "@board/core/schema/skill.sql";

export const InstallQuery = lazyObject(() => ({
  gateway_id: Id.describe("Gateway whose main agent installs or removes the skill."),
}));

export const SkillInstallation = lazyObject(() => ({
  ok: z.literal(true).describe("The main agent was notified."),
  skill_id: Id.describe("Id of the skill."),
  gateway_id: Id.describe("Id of the gateway."),
  installed: z.boolean().describe("Whether the main agent was asked to install the skill; false after a removal."),
})).meta({
  id: "MarketplaceSkillActionResponse",
  description: "A request to a gateway's main agent to install or remove a skill.",
});
export type SkillInstallation = z.infer<typeof SkillInstallation>;

/** The label of a main agent's session, independent of the agent's name. */
const MAIN_SESSION_LABEL = "Gateway Agent";

/**
 * Limit for a host that did not answer the last time. It gets one attempt, because the caller should not wait until the host is
 * back.
 */
const KNOWN_DOWN_TIMEOUT_MS = 3_000;

/**
 * Asks the main agent of a gateway to install or update a skill. The installation is recorded after the host has accepted the
 * message.
 */
export async function installSkill(ctx: Context<Admin>, skill_id: string, gateway_id: string): Promise<SkillInstallation> {
  await sendSkillAction(ctx, "install", skill_id, gateway_id);
  await ctx.db
    .insert(gateway_installed_skills)
    .values({ gateway_id, skill_id })
    .onConflictDoUpdate({
      target: [gateway_installed_skills.gateway_id, gateway_installed_skills.skill_id],
      set: { updated_at: sql`now()` },
    });
  return { ok: true, skill_id, gateway_id, installed: true };
}

/** Asks the main agent of a gateway to remove a skill, even if no installation was recorded. */
export async function uninstallSkill(ctx: Context<Admin>, skill_id: string, gateway_id: string): Promise<SkillInstallation> {
  await sendSkillAction(ctx, "uninstall", skill_id, gateway_id);
  await ctx.db
    .delete(gateway_installed_skills)
    .where(and(eq(gateway_installed_skills.gateway_id, gateway_id), eq(gateway_installed_skills.skill_id, skill_id)));
  return { ok: true, skill_id, gateway_id, installed: false };
}

/** Sends the message while the caller waits. Throws when the host does not accept it, before anything is recorded. */
async function sendSkillAction(ctx: Context<Admin>, action: SkillAction, skill_id: string, gateway_id: string): Promise<void> {
  const [row] = await ctx.db
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
  if (!row) throw notFound();
  const { gateway, skill } = row;
  // The order of these errors is part of the interface: a blank workspace_root is reported before a blank url.
  if (!gateway.workspace_root.trim()) throw new DomainError("invalid", "Gateway workspace_root is required");
  requireUsableGateway(gateway);
  const message = {
    session_key: mainSessionKey(gateway.id),
    label: MAIN_SESSION_LABEL,
    message: skillActionText(action, skill, gateway),
    deliver: true,
  };
  const limit_ms = gateway.connected ? INTERACTIVE_TIMEOUT_MS : KNOWN_DOWN_TIMEOUT_MS;
  const send = () => withInteractiveHost(ctx, gateway, (host) => sendOnHost(ctx, host, message), limit_ms);
  const failure = await catchGatewayError(send);
  if (failure) throw toUnavailable(`Gateway skill ${action} failed:`, failure);
}
