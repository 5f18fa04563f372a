import { type HostEntry, ensureEntry, findEntry, hasAgentsBesideDefault, listEntries } from "../host/entries.ts";
import { configureEntries } from "../host/configure.ts";
import type { Host } from "../host/open.ts";
import { GatewayError } from "../wire/gateway-error.ts";
import { toDesiredEntry } from "../provisioning/heartbeat-config.ts";
import type { TemplateSubject } from "../template/template-data.ts";
import { toEntryId, workspacePath } from "@board/core/values/session-key";

/** Most agents that one change adds, as its frame must not exceed what the oldest hosts accept. */
const MAX_ADDED = 200;

/**
 * Adds the agents that a host has lost in one change of its configuration, since hosts need a pause after each. Returns the
 * host's entries. Where it fails, the agents are created one by one, and each has its own error. A host without agents lists
 * its default agent only implicitly, and the change would remove that one, so the first agent is always created by a call.
 */
export async function addMissingEntries(
  host: Host,
  subjects: readonly TemplateSubject[],
  present: readonly HostEntry[],
): Promise<readonly HostEntry[]> {
  const missing = subjects.filter(({ agent }) => findEntry(present, toEntryId(agent)) === undefined).slice(0, MAX_ADDED);
  const [first, second] = missing;
  if (!first || !second) return present;
  try {
    if (!hasAgentsBesideDefault(present)) await createFirst(host, first, present);
    await configureEntries(
      host,
      missing.map(({ agent, gateway }) => toDesiredEntry(gateway, agent)),
    );
  } catch (error) {
    if (!(error instanceof GatewayError) || error.is_unreachable) throw error;
  }
  return listEntries(host);
}

async function createFirst(host: Host, { agent, gateway }: TemplateSubject, present: readonly HostEntry[]): Promise<void> {
  const id = toEntryId(agent);
  await ensureEntry(
    host,
    { id, name: agent.name, workspace: workspacePath(gateway.workspace_root, id) },
    { create: true, present },
  );
}
