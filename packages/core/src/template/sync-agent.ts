import { hostAgentId, hostLane, workspacePath } from "../agent/host.ts";
import { findHostToken, type HostToken, unreadableToken } from "../agent/host-token.ts";
import { Superseded } from "../agent/token-change.ts";
import type { Context } from "../context.ts";
import { GatewayError } from "../gateway/client.ts";
import { ensureEntry, type HostEntry } from "../gateway/entries.ts";
import type { Host } from "../gateway/host.ts";
import { isUnreached } from "../gateway/reach.ts";
import { replaceSecrets } from "../job/batch.ts";
import type { TemplateSubject } from "./context.ts";
import { writeAgentFiles } from "./host-files.ts";
import { failure, type Outcome } from "./settle.ts";
import type { SyncQuery } from "./sync-result.ts";

export interface AgentWork {
  query: SyncQuery;
  /** As decided when the run began. */
  token: string | null;
  first: boolean;
  /** What the host is known to have. */
  present: readonly HostEntry[];
  below_minimum: boolean;
}

/**
 * Brings the files of one agent on its host up to date (contract gateways.md §12.2, steps 4 to 6). Nothing of it does harm
 * when it is done again. Rejects with a GatewayError.
 */
export async function syncAgent(ctx: Context, host: Host, subject: TemplateSubject, work: AgentWork): Promise<Outcome> {
  const { agent, gateway } = subject;
  const { rotate_tokens, force_bootstrap, overwrite } = work.query;
  const id = hostAgentId(agent.openclaw_session_id ?? agent.name);
  const wanted = { id, name: agent.name, workspace: workspacePath(gateway.workspace_root, id) };
  const create = rotate_tokens || agent.board_id === null;
  const entry = await ensureEntry(host, wanted, { create, present: work.present });
  if (entry === "missing") return failure(unreadableToken(agent));

  const rotates = rotate_tokens && work.token !== null;
  const known = rotates ? null : await readToken(ctx, host, subject);
  const auth_token = known?.token ?? work.token;
  if (auth_token === null) return failure(known?.problem ?? unreadableToken(agent));
  const new_token = auth_token === work.token;
  // A job that would put its own token there later, and with that revive it, gets this one.
  if (new_token)
    await replaceSecrets(ctx, "agent.provision", hostLane(gateway.id, agent.openclaw_session_id ?? agent.name), auth_token);

  const { below_minimum } = work;
  const first = work.first || entry === "created";
  try {
    const options = { auth_token, new_token, first, force_bootstrap, overwrite, below_minimum };
    const { files_written, warnings, error } = await writeAgentFiles(ctx, host, subject, options);
    return { status: error === null ? "success" : "error", error, warnings, files_written };
  } catch (error) {
    if (error instanceof Superseded) return failure(error.message);
    throw error;
  }
}

/** A host that does not show the file is one on which the token cannot be read. */
async function readToken(ctx: Context, host: Host, { agent }: TemplateSubject): Promise<HostToken> {
  try {
    return await findHostToken(ctx, host, agent);
  } catch (error) {
    if (!(error instanceof GatewayError) || isUnreached(error)) throw error;
    return { token: null, problem: unreadableToken(agent) };
  }
}
