import type { Context } from "../context.ts";
import type { Host } from "../gateway/host.ts";
import { readHostToken } from "../gateway/workspace.ts";
import { readTokenLine } from "../template/token-line.ts";
import type { AgentRow } from "./agent.ts";
import { hostAgentId } from "./host.ts";
import { tokenLookup, verifyToken } from "./token.ts";

/** An agent's token as its host has it, or why it cannot be gone on with. */
export type HostToken = { token: string; problem: null } | { token: null; problem: string };

/**
 * Reads an agent's token from its host: the service itself keeps only what it can be checked by. One that the agent is not
 * known by is as good as none.
 */
export async function findHostToken(ctx: Context, host: Host, agent: AgentRow): Promise<HostToken> {
  const token = await readHostToken(host, hostAgentId(agent.openclaw_session_id ?? agent.name), readTokenLine);
  if (token === null) return { token: null, problem: unreadableToken(agent) };
  if (await isKnownBy(ctx, agent, token)) return { token, problem: null };
  return { token: null, problem: `AUTH_TOKEN in TOOLS.md does not match ${adviceFor(agent)}` };
}

export const unreadableToken = (agent: { name: string }): string => `unable to read AUTH_TOKEN from TOOLS.md ${adviceFor(agent)}`;

const adviceFor = ({ name }: { name: string }): string => `(agent: ${name}, run with rotate_tokens=true)`;

/** By the digest, or for an imported agent that has not called yet by the PBKDF2 form. */
const isKnownBy = async (ctx: Context, { agent_token_lookup, agent_token_hash }: AgentRow, token: string): Promise<boolean> =>
  agent_token_lookup === null
    ? verifyToken(token, agent_token_hash ?? "")
    : agent_token_lookup === tokenLookup(ctx.settings.token_pepper, token);
