import { workspacePath } from "../agent/host.ts";
import type { Context } from "../context.ts";
import { GatewayError } from "../gateway/client.ts";
import { ensureEntry, type HostEntry, listEntries } from "../gateway/entries.ts";
import { toGatewayMessage } from "../gateway/failure.ts";
import { type Host, openHost } from "../gateway/host.ts";
import { recordReach, storeReach } from "../gateway/reach.ts";
import { type GatewayRow, toTarget } from "../gateway/target.ts";
import { checkVersion, readVersion } from "../gateway/version.ts";
import type { Patience } from "./patience.ts";
import {
  ensureMainAgent,
  entryIdOf,
  isBoardOf,
  type SelectedAgent,
  selectAgents,
  type SyncTarget,
  toTargetOf,
} from "./selection.ts";
import { errorOf, type SyncError, type SyncQuery } from "./sync-result.ts";

/** A host that answered, and what there is to do on it. */
export interface Prepared {
  problem: null;
  host: Host;
  /** What the host knows of agents. */
  entries: HostEntry[];
  below_minimum: boolean;
  targets: SyncTarget[];
  errors: SyncError[];
}

/** A host's answers must not keep anybody waiting for less. */
const LEAST_ANSWER_MS = 1_000;

/**
 * Everything before the agents (contract gateways.md §12.2, steps 1 to 4): their gateway's main agent, the host, the agents
 * and what is done with each. Or the problem that keeps the sync from all of it. `patience` is for the first contact.
 */
export async function prepareSync(
  ctx: Context,
  gateway: GatewayRow,
  query: SyncQuery,
  patience: Patience,
): Promise<Prepared | { problem: string }> {
  const fresh = await ensureMainAgent(ctx, gateway);
  if (!gateway.url.trim()) return { problem: "Gateway url is required" };
  const contact = await contactHost(ctx, gateway, patience);
  if (contact instanceof GatewayError) return { problem: toGatewayMessage(contact) };
  if (query.board_id !== undefined && !(await isBoardOf(ctx, gateway, query.board_id)))
    return { problem: "Board does not belong to this gateway." };
  const { host, entries, below_minimum } = contact;
  const { agents, main } = await selectAgents(ctx, gateway, query);
  const selected = main && query.include_main ? [...agents, main] : agents;
  const targets = selected.map((agent) => toTargetOf(gateway, agent, { rotates: query.rotate_tokens, fresh, entries }));
  const errors = main && !query.include_main ? await ensureMainEntry(host, gateway, main, entries) : [];
  return { problem: null, host, entries, below_minimum, targets, errors };
}

/** Connects, and learns the host's version and agents. Keeps what is shown of the gateway true to how that ends. */
async function contactHost(
  ctx: Context,
  gateway: GatewayRow,
  { policy, signal }: Patience,
): Promise<{ host: Host; entries: HostEntry[]; below_minimum: boolean } | GatewayError> {
  const target = toTarget(ctx, gateway);
  try {
    const host = await openHost(ctx, { id: gateway.id, target }, policy, signal ? { signal } : {});
    const timeout_ms = Math.max(LEAST_ANSWER_MS, policy.total_ms);
    const [version, entries] = await Promise.all([
      readVersion(ctx.gateways, target, { timeout_ms }),
      listEntries(host),
      host.call("health", {}, { timeout_ms }),
    ]);
    const verdict = checkVersion(version, ctx.settings.gateway_min_version);
    const last_error = verdict.kind === "ok" ? null : verdict.message;
    await storeReach(ctx, gateway, { connected: true, version, last_error });
    return { host, entries, below_minimum: verdict.kind === "incompatible" };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    await recordReach(ctx, gateway, error);
    return error;
  }
}

/** A main agent that gets no files now has its place on the host all the same. */
async function ensureMainEntry(
  host: Host,
  gateway: GatewayRow,
  main: SelectedAgent,
  present: readonly HostEntry[],
): Promise<SyncError[]> {
  const id = entryIdOf(main);
  const wanted = { id, name: main.name, workspace: workspacePath(gateway.workspace_root, id) };
  try {
    await ensureEntry(host, wanted, { create: true, present });
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [errorOf(toGatewayMessage(error), { agent_id: main.id, agent_name: main.name, board_id: null })];
  }
}
