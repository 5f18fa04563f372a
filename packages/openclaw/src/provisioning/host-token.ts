import type { Context } from "@board/core/context/context";
import type { Host } from "../host/open.ts";
import { readHostToken } from "../host/workspace.ts";
import { parseToken } from "../template/token-line.ts";
import type { AgentRow } from "@board/core/agent/agent";
import { toEntryId } from "@board/core/values/session-key";
import { tokenLookup, verifyToken } from "@board/core/agent/token";

/** The token that an agent's host has stored, or the reason why it cannot be used. */
export type HostToken = { token: string; problem: null } | { token: null; problem: string };

/**
 * Reads an agent's token from its host, because the service stores only a hash. A token that does not match the hash is reported as
 * a problem.
 */
export async function readAgentToken(ctx: Context, host: Host, agent: AgentRow): Promise<HostToken> {
  const token = await readHostToken(host, toEntryId(agent), parseToken);
  if (token === null) return { token: null, problem: unreadableTokenMessage(agent) };
  if (await isTokenOf(ctx, agent, token)) return { token, problem: null };
  return { token: null, problem: `AUTH_TOKEN in TOOLS.md does not match ${rotationHint(agent)}` };
}

export const unreadableTokenMessage = (agent: { name: string }): string =>
  `unable to read AUTH_TOKEN from TOOLS.md ${rotationHint(agent)}`;

const rotationHint = ({ name }: { name: string }): string => `(agent: ${name}, run with rotate_tokens=true)`;

/** Compares the token with the stored digest, or with the PBKDF2 hash of an imported agent that has not made a request yet. */
export const isTokenOf = async (
  ctx: Context,
  { agent_token_lookup, agent_token_hash }: AgentRow,
  token: string,
): Promise<boolean> =>
  agent_token_lookup === null
    ? verifyToken(token, agent_token_hash ?? "")
    : agent_token_lookup === tokenLookup(ctx.settings.token_pepper, token);
