import { and, eq } from "drizzle-orm";
import type { Agent } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { unauthenticated } from "@board/core/values/errors";
import { gateways } from "@board/core/schema/gateway.sql";
import { renderInstructions } from "./render.ts";
import { readSubjects } from "./template-data.ts";

/** Returns, as Markdown, what the calling agent must know to work with HTTP or MCP alone. */
export async function getInstructions(ctx: Context<Agent>): Promise<string> {
  const { agent_id, gateway_id, organization_id } = ctx.actor;
  const [gateway] = await ctx.db
    .select()
    .from(gateways)
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  const [subject] = gateway ? await readSubjects(ctx, gateway, [agent_id], null) : [];
  if (!subject) throw unauthenticated();
  const { service_url: base_url, budgets: limits } = ctx.settings;
  return renderInstructions(subject, { base_url, limits });
}
