import { toEntryId, workspacePath } from "@board/core/values/session-key";
import type { Context } from "@board/core/context/context";
import { GatewayError } from "../wire/gateway-error.ts";
import { ensureEntry, type HostEntry, listEntries } from "../host/entries.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import { type Host, openHost } from "../host/open.ts";
import { recordConnectivity, storeConnectivity } from "../provisioning/connectivity.ts";
import { type GatewayRow, isUsableGateway, toTarget } from "@board/core/gateway/target";
import { checkVersion, fetchVersion } from "../wire/version.ts";
import type { Deadline } from "../host/deadline.ts";
import {
  ensureMainAgent,
  isBoardOfGateway,
  type SelectedAgent,
  selectAgents,
  type SyncTarget,
  toSyncTarget,
} from "./selection.ts";
import { toSyncError, type SyncError, type SyncQuery } from "./result.ts";

/** A host that answered, and the agents to sync on it. */
export interface PreparedSync {
  problem: null;
  host: Host;
  /** The agent entries of the host. */
  entries: HostEntry[];
  below_minimum: boolean;
  targets: SyncTarget[];
  errors: SyncError[];
}

/** Minimum timeout in milliseconds of the calls after the first contact, even if less time is left until the deadline. */
const MIN_ANSWER_MS = 1_000;

/**
 * Runs steps 1 to 4 of docs/reference/gateways.md#steps-of-a-sync. Returns a `problem` when the sync cannot start. `deadline`
 * limits the first contact and is then extended to `work_ms`. Rejects with a GatewayError when other processes hold the config
 * lock for that long.
 */
export async function prepareSync(
  ctx: Context,
  gateway: GatewayRow,
  query: SyncQuery,
  deadline: Deadline,
  work_ms: number,
): Promise<PreparedSync | { problem: string }> {
  const is_new_main = await ensureMainAgent(ctx, gateway);
  if (!isUsableGateway(gateway)) return { problem: "Gateway url is required" };
  const contact = await connectHost(ctx, gateway, deadline);
  if (contact instanceof GatewayError) return { problem: toGatewayMessage(contact) };
  if (query.board_id !== undefined && !(await isBoardOfGateway(ctx, gateway, query.board_id)))
    return { problem: "Board does not belong to this gateway." };
  const { host, entries, below_minimum } = contact;
  deadline.extend(work_ms);
  const { agents, main } = await selectAgents(ctx, gateway, query);
  const selected = main && query.include_main ? [...agents, main] : agents;
  const targets = selected.map((agent) =>
    toSyncTarget(gateway, agent, { rotate_tokens: query.rotate_tokens, is_new_main, entries }),
  );
  const errors = main && !query.include_main ? await ensureMainEntry(host, gateway, main, entries) : [];
  return { problem: null, host, entries, below_minimum, targets, errors };
}

/** Connects, reads the host's version and entries, and records the connectivity of the gateway. */
async function connectHost(
  ctx: Context,
  gateway: GatewayRow,
  { policy, signal }: Deadline,
): Promise<{ host: Host; entries: HostEntry[]; below_minimum: boolean } | GatewayError> {
  const target = toTarget(ctx, gateway);
  try {
    const host = await openHost(ctx, { id: gateway.id, target }, policy, signal ? { signal } : {});
    const timeout_ms = Math.max(MIN_ANSWER_MS, policy.total_ms);
    const [version, entries] = await Promise.all([
      fetchVersion(ctx.gateways, target, { timeout_ms }),
      listEntries(host),
      host.call("health", {}, { timeout_ms }),
    ]);
    const verdict = checkVersion(version, ctx.settings.gateway_min_version);
    const last_error = verdict.kind === "ok" ? null : verdict.message;
    await storeConnectivity(ctx, gateway, { connected: true, version, last_error });
    return { host, entries, below_minimum: verdict.kind === "incompatible" };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    await recordConnectivity(ctx, gateway, error);
    return error;
  }
}

/** Ensures the host entry of the main agent when the sync does not include that agent. */
async function ensureMainEntry(
  host: Host,
  gateway: GatewayRow,
  main: SelectedAgent,
  present: readonly HostEntry[],
): Promise<SyncError[]> {
  const id = toEntryId(main);
  const entry = { id, name: main.name, workspace: workspacePath(gateway.workspace_root, id) };
  try {
    await ensureEntry(host, entry, { create: true, present });
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError) || error.is_waiting) throw error;
    return [toSyncError(toGatewayMessage(error), { agent_id: main.id, agent_name: main.name, board_id: null })];
  }
}
