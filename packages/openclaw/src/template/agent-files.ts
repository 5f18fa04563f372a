import type { Admin } from "@board/core/context/actor";
import { readableAgent } from "@board/core/agent/lookup";
import type { Context } from "@board/core/context/context";
import { truncatable } from "@board/core/lists/large-fields";
import { DomainError, notFound } from "@board/core/values/errors";
import { lazyObject } from "@board/core/values/wire";
import * as z from "zod";
import { RenderTooLarge } from "./budget.ts";
import { type FileName, PRESERVED_FILES, toRole } from "./files.ts";
import { type RenderedFile, renderFiles, renderInstructions } from "./render.ts";
import { findRoleSoul } from "./role-soul.ts";
import { readSubjects, roleName, type TemplateSubject } from "./template-data.ts";

const WRITTEN = ["always", "if_missing", "at_first_start", "on_request"] as const;

export const AgentFile = lazyObject(() => ({
  name: z.string().describe("Name of the file; INSTRUCTIONS.md for what an agent without a host reads."),
  content: z.string().describe("What the service would write now. The token is replaced by a placeholder."),
  written: z
    .enum(WRITTEN)
    .describe(
      "`always`: each update rewrites the file. `if_missing`: the agent keeps it, and it is written only when the host has none. `at_first_start`: written only at the first start, or when all files are. `on_request`: the agent reads it from the service.",
    ),
  ...truncatable,
})).meta({ id: "AgentFile", description: "A file of an agent, as the service renders it." });

export const AgentFiles = lazyObject(() => ({
  files: z.array(AgentFile).describe("In the order in which they are written."),
  ...truncatable,
})).meta({ id: "AgentFiles", description: "The files and instructions of an agent." });
export type AgentFiles = z.infer<typeof AgentFiles>;

const HIDDEN_TOKEN = "(hidden)";

/**
 * Returns the files that the service would write for an agent now, or the instructions of an agent without a host. They never
 * contain the token. The caller is the only person whom they name.
 */
export async function getAgentFiles(ctx: Context<Admin>, agent_id: string): Promise<AgentFiles> {
  const { gateway } = await readableAgent(ctx, agent_id);
  const { user_id } = ctx.actor;
  const [found] = await readSubjects(ctx, gateway, [agent_id], user_id);
  if (!found) throw notFound();
  const subject = found.user?.id === user_id ? found : { ...found, user: null };
  try {
    if (gateway.kind === "pull") return { files: [toInstructions(ctx, subject)] };
    const files = await renderAgentFiles(ctx, subject, HIDDEN_TOKEN);
    return { files: files.map((file) => ({ ...file, written: whenWritten(file.name) })) };
  } catch (error) {
    if (error instanceof RenderTooLarge) throw new DomainError("invalid", error.message);
    throw error;
  }
}

function toInstructions(ctx: Context, subject: TemplateSubject): z.infer<typeof AgentFile> {
  const { service_url: base_url, budgets: limits } = ctx.settings;
  return { name: "INSTRUCTIONS.md", content: renderInstructions(subject, { base_url, limits }), written: "on_request" };
}

function whenWritten(name: FileName): (typeof WRITTEN)[number] {
  if (name === "BOOTSTRAP.md") return "at_first_start";
  return PRESERVED_FILES.has(name) ? "if_missing" : "always";
}

/** Renders the files of an agent, with the soul of its role if the souls directory has one. Rejects with RenderTooLarge. */
export async function renderAgentFiles(ctx: Context, subject: TemplateSubject, auth_token: string): Promise<RenderedFile[]> {
  const { agent } = subject;
  const hasRoleSoul = toRole(agent) === "worker" && !agent.soul_template?.trim();
  const role_soul = hasRoleSoul ? await findRoleSoul(ctx, roleName(agent.identity_profile)) : null;
  const { service_url: base_url, budgets: limits } = ctx.settings;
  return renderFiles(subject, { auth_token, base_url, role_soul, limits });
}
