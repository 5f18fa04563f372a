import { setTimeout as pause } from "node:timers/promises";
import { hostAgentId } from "@board/core/values/session-key";
import { GatewayError } from "../wire/gateway-error.ts";
import { readConfiguredWorkspaces, isSamePath, toHostConfig } from "./config.ts";
import { isExistingEntry, isMissingAgent, isMissingSession } from "../wire/failure.ts";
import { asRecord } from "../wire/frame.ts";
import type { Host } from "./open.ts";

/** An agent as a host lists it; a field is null when the host does not report it. */
export interface HostEntry {
  id: string;
  name: string | null;
  workspace: string | null;
}

/** The name and workspace that an agent must have on its host. */
type EntryPlacement = { id: string; name: string; workspace: string };

/** Number of attempts for a write that the host acknowledges and then loses. */
const MAX_ATTEMPTS = 3;
/** Delays in milliseconds between retries while a host does not know an agent that it has just created. */
const UNKNOWN_AGENT_WAITS_MS = [500, 1_000, 2_000, 4_000];
/** The host's default agent, which must never be removed. */
const HOST_DEFAULT_AGENT = "main";

/** Lists the agents that a host knows. Older hosts report the workspaces only in their configuration. */
export async function listEntries(host: Host): Promise<HostEntry[]> {
  const rows = await listRows(host);
  if (rows.every(({ workspace }) => workspace !== null)) return rows;
  const workspaces = readConfiguredWorkspaces(toHostConfig(await host.call("config.get", {})).config);
  return rows.map((row) => ({ ...row, workspace: row.workspace ?? workspaces.get(row.id) ?? null }));
}

async function listRows(host: Host): Promise<HostEntry[]> {
  const payload = await host.call("agents.list", {});
  const listed = Array.isArray(payload) ? payload : asRecord(payload)?.agents;
  const rows = Array.isArray(listed)
    ? listed
    : Object.entries(asRecord(listed) ?? {}).map(([id, row]) => ({ ...asRecord(row), id }));
  return rows.flatMap((row: unknown) => {
    const { id, agentId, name, workspace } = asRecord(row) ?? {};
    const known_id = toText(id) ?? toText(agentId) ?? toText(row);
    return known_id === null ? [] : [{ id: known_id, name: toText(name), workspace: toText(workspace) }];
  });
}

const toText = (value: unknown): string | null => (typeof value === "string" ? value.trim() || null : null);

/** Finds an entry without regard to case, because hosts store ids in lower case. */
export const findEntry = (entries: readonly HostEntry[], id: string): HostEntry | undefined =>
  entries.find((entry) => entry.id.toLowerCase() === id.toLowerCase());

/**
 * Returns whether the host lists an agent other than its default agent. If not, the default agent is only implicit in its
 * configuration.
 */
export const hasAgentsBesideDefault = (entries: readonly HostEntry[]): boolean =>
  entries.some(({ id }) => id !== HOST_DEFAULT_AGENT);

/** Normalizes white space, because hosts may store it differently and names are compared. */
const normalizeName = (name: string | null) => name?.normalize().replace(/\s+/g, " ").trim();

const isUpToDate = (entry: HostEntry, { name, workspace }: EntryPlacement): boolean =>
  normalizeName(entry.name) === normalizeName(name) && entry.workspace !== null && isSamePath(entry.workspace, workspace);

/**
 * Makes sure that the entry exists with this name and workspace. An entry that is up to date is not written. Returns "missing" if
 * the entry does not exist and `create` is false. `present` is an earlier result of `listEntries`. Rejects with a GatewayError.
 */
export async function ensureEntry(
  host: Host,
  wanted: EntryPlacement,
  { create, present }: { create: boolean; present?: readonly HostEntry[] },
): Promise<"present" | "updated" | "created" | "missing"> {
  const entry = findEntry(present ?? (await listEntries(host)), wanted.id);
  if (entry && isUpToDate(entry, wanted)) return "present";
  // An entry without a name was just added by a configuration change, and parts of the host may not know it yet.
  if (entry) await updateEntry(host, wanted, entry.name === null ? UNKNOWN_AGENT_WAITS_MS : []);
  else if (create) await createEntry(host, wanted);
  return entry ? "updated" : create ? "created" : "missing";
}

/** Creates an entry with its id as name, because hosts derive the id from the name, and then renames it. */
async function createEntry(host: Host, wanted: EntryPlacement): Promise<void> {
  const { id, workspace } = wanted;
  const create = () => writeConfig(host, "agents.create", { name: id, workspace });
  await writeAndVerify(host, id, {
    async write() {
      await ignoreErrors(isExistingEntry, create);
      await pause(host.dialect.write_visibility_ms);
    },
    isApplied: async () => findEntry(await listRows(host), id) !== undefined,
  });
  await updateEntry(host, wanted, UNKNOWN_AGENT_WAITS_MS);
}

/** Updates an entry. `waits` are the delays in milliseconds between retries while the host does not know the agent. */
async function updateEntry(host: Host, wanted: EntryPlacement, waits: readonly number[] = []): Promise<void> {
  const { id, name, workspace } = wanted;
  const update = () => writeConfig(host, "agents.update", { agentId: id, name, workspace });
  await writeAndVerify(host, id, {
    write: () => retryUnknownAgent(update, waits),
    async isApplied() {
      const entry = findEntry(await listEntries(host), id);
      return entry !== undefined && isUpToDate(entry, wanted);
    },
  });
}

/**
 * Removes an agent from a host: aborts its runs, deletes its entry and files, then its session. Missing parts are ignored, and
 * the host's default agent stays. Rejects with a GatewayError, even when only the agent's runs cannot be aborted.
 */
export async function removeEntry(host: Host, session_key: string): Promise<void> {
  const id = hostAgentId(session_key);
  if (id.toLowerCase() === HOST_DEFAULT_AGENT) return;
  await abortRuns(host, session_key);
  const remove = () => writeConfig(host, "agents.delete", { agentId: id, deleteFiles: true });
  await writeAndVerify(host, id, {
    write: () => ignoreErrors(isAlreadyRemoved, remove),
    isApplied: async () => findEntry(await listRows(host), id) === undefined,
  });
  await ignoreErrors(isAlreadyRemoved, () => host.call("sessions.delete", { key: session_key }));
}

/**
 * Aborts the agent's runs and waits, because an aborted run needs time to end. A new run may start in that time. Some hosts crash
 * when an agent is deleted during a run, so on these hosts runs are aborted again until the agent has no run left.
 */
async function abortRuns(host: Host, session_key: string): Promise<void> {
  const abort = () => ignoreErrors(isAlreadyRemoved, () => host.call("chat.abort", { sessionKey: session_key }));
  const { abort_wait_ms, crashes_on_deleting_active_agent } = host.dialect;
  await abort();
  await pause(abort_wait_ms);
  for (let attempt = 1; crashes_on_deleting_active_agent && asRecord(await abort())?.aborted === true; attempt += 1) {
    if (attempt === MAX_ATTEMPTS) throw new GatewayError("The agent is still running on its host.", { retryable: true });
    await pause(abort_wait_ms);
  }
}

/** Acquires the config lock for each attempt, so that other writers do not wait while this write is being retried. */
const writeConfig = (host: Host, method: string, params: object): Promise<unknown> =>
  host.retry(method, () => host.withConfigLock(() => host.callOnce(method, params)));

/**
 * Writes and, on hosts that lose writes, verifies the result twice before it writes again. `write` may call `retryUnknownAgent`,
 * which calls `host.retry`. Only `host.retry` has a time limit, and each of its attempts acquires the config lock.
 */
async function writeAndVerify(
  host: Host,
  id: string,
  { write, isApplied }: { write: () => Promise<unknown>; isApplied: () => Promise<boolean> },
): Promise<void> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    await write();
    if (!host.dialect.loses_writes || (await isApplied())) return;
    await pause(host.dialect.write_visibility_ms);
    if (await isApplied()) return;
  }
  throw new GatewayError(`The host lost the changes to agent "${id}" ${MAX_ATTEMPTS} times.`, { retryable: true });
}

/** Retries after each of the waits while the host does not know the agent. */
async function retryUnknownAgent(work: () => Promise<unknown>, waits: readonly number[]): Promise<void> {
  for (const wait of waits) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isMissingAgent(error)) throw error;
    }
    await pause(wait);
  }
  await work();
}

/** Treats some failures of a call as success and returns null for them. */
async function ignoreErrors(isIgnorable: (error: unknown) => boolean, call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    if (isIgnorable(error)) return null;
    throw error;
  }
}

/** Returns whether nothing is left to remove, or the host never deletes this session. */
const isAlreadyRemoved = (error: unknown): boolean =>
  isMissingAgent(error) ||
  isMissingSession(error) ||
  (error instanceof GatewayError && /cannot delete the main session/i.test(error.message));
