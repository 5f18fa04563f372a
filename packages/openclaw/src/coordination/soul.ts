import type { Agent } from "@board/core/context/actor";
import type { HostedAgent } from "@board/core/agent/lookup";
import { getSoulTarget, readHostSoul } from "./agent-soul.ts";
import type { Context } from "@board/core/context/context";
import { notFound } from "@board/core/values/errors";
import { renderFiles } from "../template/render.ts";
import { readSubjects } from "../template/template-data.ts";

/** Returns the SOUL.md of an agent: the file on its host, or the stored text when the gateway has no host. */
export async function getSoul(ctx: Context<Agent>, board_id: string, agent_id: string): Promise<string> {
  const target = await getSoulTarget(ctx, board_id, agent_id);
  return target.gateway.kind === "pull" ? storedSoul(ctx, target) : readHostSoul(ctx, target);
}

/** Returns the soul that was set for the agent, else the default soul of its role. */
async function storedSoul(ctx: Context, { agent, gateway }: HostedAgent): Promise<string> {
  if (agent.soul_template) return agent.soul_template;
  const [subject] = await readSubjects(ctx, gateway, [agent.id], null);
  if (!subject) throw notFound();
  const files = renderFiles(subject, { auth_token: "", base_url: ctx.settings.service_url });
  return files.find(({ name }) => name === "SOUL.md")?.content ?? "";
}
