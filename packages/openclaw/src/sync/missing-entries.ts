import { type HostEntry, ensureEntry, findEntry, hasAgentsBesideDefault, listEntries } from "../host/entries.ts";
import { configureEntries } from "../host/configure.ts";
import type { Host } from "../host/open.ts";
import { GatewayError } from "../wire/gateway-error.ts";
import { toDesiredEntry } from "../provisioning/heartbeat-config.ts";
import type { TemplateSubject } from "../template/template-data.ts";
import { toEntryId, workspacePath } from "@board/core/values/session-key";

/** Limits the agents that one change adds, because the oldest hosts accept only small frames. */
const MAX_ADDED = 200;

/**
 * Adds missing agents in one configuration change, since hosts need a pause after each change, and returns the host's entries. If
 * the change fails, each agent is created later. On a host without agents the first agent is created by a call, because the
 * change would remove the implicit default agent.
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
