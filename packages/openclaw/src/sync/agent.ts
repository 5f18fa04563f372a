import { hostLane } from "@board/core/values/session-key";
import { readAgentToken, type HostToken, unreadableTokenMessage } from "../provisioning/host-token.ts";
import { Superseded } from "@board/core/agent/token-rotation";
import type { Context } from "@board/core/context/context";
import { GatewayError } from "../wire/gateway-error.ts";
import type { HostEntry } from "../host/entries.ts";
import type { Host } from "../host/open.ts";
import { replaceSecretsInLane } from "@board/core/job/claim";
import type { TemplateSubject } from "../template/template-data.ts";
import { placeOnHost, type PlacementToken } from "../provisioning/write-files.ts";
import { toFailedOutcome, type AgentSyncOutcome } from "./agent-results.ts";
import type { SyncQuery } from "./result.ts";

interface SyncAgentInput {
  query: SyncQuery;
  /** The new token that was chosen when the run started; null when the agent keeps its token. */
  token: string | null;
  /** The host had no entry of the agent when the run started. */
  first: boolean;
  /** The entries that the host had when they were last listed. */
  present: readonly HostEntry[];
  below_minimum: boolean;
}

/**
 * Updates the files of one agent on its host: steps 4 to 6 of docs/reference/gateways.md#steps-of-a-sync. It is idempotent.
 * Rejects with a GatewayError.
 */
export async function syncAgent(
  ctx: Context,
  host: Host,
  subject: TemplateSubject,
  work: SyncAgentInput,
): Promise<AgentSyncOutcome> {
  const { agent } = subject;
  const { rotate_tokens, force_bootstrap, overwrite } = work.query;
  try {
    const { files, problem } = await placeOnHost(ctx, host, subject, {
      create: rotate_tokens || agent.board_id === null,
      present: work.present,
      findToken: () => findToken(ctx, host, subject, work),
      without_token: "fail",
      first: work.first,
      force_bootstrap,
      overwrite,
      below_minimum: work.below_minimum,
    });
    if (files === null) return toFailedOutcome(problem);
    const { files_written, warnings, error } = files;
    return { status: error === null ? "success" : "error", error, warnings, files_written };
  } catch (error) {
    if (error instanceof Superseded) return toFailedOutcome(error.message);
    throw error;
  }
}

/**
 * Chooses the token. If tokens are rotated, it is the run's new token. Otherwise it is the token on the host or, if the host has
 * none, the run's new token.
 */
async function findToken(ctx: Context, host: Host, subject: TemplateSubject, work: SyncAgentInput): Promise<PlacementToken> {
  const { agent, gateway } = subject;
  const rotates = work.query.rotate_tokens && work.token !== null;
  const from_host = rotates ? null : await readTokenOrProblem(ctx, host, subject);
  const token = from_host?.token ?? work.token;
  if (token === null) return { token, problem: from_host?.problem ?? null, is_new: false };
  const is_new = token === work.token;
  // Without the replacement, a queued provisioning job would later write its old token to the host and make that token valid
  // again.
  if (is_new)
    await replaceSecretsInLane(ctx, "agent.provision", hostLane(gateway.id, agent.openclaw_session_id ?? agent.name), token);
  return { token, problem: null, is_new };
}

/** Reads the token. A host that refuses to return the file is treated like a token that cannot be read. */
async function readTokenOrProblem(ctx: Context, host: Host, { agent }: TemplateSubject): Promise<HostToken> {
  try {
    return await readAgentToken(ctx, host, agent);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.is_unreachable) throw error;
    return { token: null, problem: unreadableTokenMessage(agent) };
  }
}
