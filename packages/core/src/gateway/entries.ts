import { setTimeout as pause } from "node:timers/promises";
import { hostAgentId } from "../agent/host.ts";
import { GatewayError } from "./client.ts";
import { configuredWorkspaces, isSamePath, toHostConfig } from "./config.ts";
import { isExistingEntry, isMissingAgent, isMissingSession } from "./failure.ts";
import { record } from "./frame.ts";
import type { Host } from "./host.ts";

/** An agent as a host lists it; null is what the host does not tell. */
export interface HostEntry {
  id: string;
  name: string | null;
  workspace: string | null;
}

type Wanted = { id: string; name: string; workspace: string };

/** How often a write is repeated that the host answered and then lost. */
const MAX_TRIES = 3;
/** Waits while a host does not know an agent that it has just made; milliseconds. */
const UNKNOWN_MS = [500, 1_000, 2_000, 4_000];
/** The host's own agent, which is nobody's to remove. */
const HOSTS_OWN = "main";

/** The agents that a host knows. Older hosts tell the workspaces in their configuration only. */
export async function listEntries(host: Host): Promise<HostEntry[]> {
  const rows = await listRows(host);
  if (rows.every(({ workspace }) => workspace !== null)) return rows;
  const workspaces = configuredWorkspaces(toHostConfig(await host.call("config.get", {})).config);
  return rows.map((row) => ({ ...row, workspace: row.workspace ?? workspaces.get(row.id) ?? null }));
}

async function listRows(host: Host): Promise<HostEntry[]> {
  const payload = await host.call("agents.list", {});
  const listed = Array.isArray(payload) ? payload : record(payload)?.agents;
  const rows = Array.isArray(listed) ? listed : Object.entries(record(listed) ?? {}).map(([id, row]) => ({ ...record(row), id }));
  return rows.flatMap((row: unknown) => {
    const { id, agentId, name, workspace } = record(row) ?? {};
    const known = textOf(id) ?? textOf(agentId) ?? textOf(row);
    return known === null ? [] : [{ id: known, name: textOf(name), workspace: textOf(workspace) }];
  });
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value.trim() || null : null);

/** Hosts keep ids in lower case. */
const find = (entries: readonly HostEntry[], id: string) => entries.find((one) => one.id.toLowerCase() === id.toLowerCase());

/** Blanks are the host's affair. */
const plain = (name: string | null) => name?.normalize().replace(/\s+/g, " ").trim();

const fits = (entry: HostEntry, { name, workspace }: Wanted): boolean =>
  plain(entry.name) === plain(name) && entry.workspace !== null && isSamePath(entry.workspace, workspace);

/**
 * Makes sure that the entry is there with this name and workspace; what has them is not written to. "missing" when it is
 * not there and may not be created. `present` is what `listEntries` has told already. Rejects with a GatewayError.
 */
export async function ensureEntry(
  host: Host,
  wanted: Wanted,
  { create, present }: { create: boolean; present?: readonly HostEntry[] },
): Promise<"present" | "updated" | "created" | "missing"> {
  const entry = find(present ?? (await listEntries(host)), wanted.id);
  if (entry && fits(entry, wanted)) return "present";
  if (entry) await updateEntry(host, wanted);
  else if (create) await createEntry(host, wanted);
  return entry ? "updated" : create ? "created" : "missing";
}

/** Hosts take the id from the name, so that the name people read comes by an update. */
async function createEntry(host: Host, wanted: Wanted): Promise<void> {
  const { id, workspace } = wanted;
  const create = () => writeConfig(host, "agents.create", { name: id, workspace });
  await written(host, id, {
    async write() {
      await unless(isExistingEntry, create);
      await pause(host.dialect.settle_ms);
    },
    isThere: async () => find(await listRows(host), id) !== undefined,
  });
  await updateEntry(host, wanted, UNKNOWN_MS);
}

/** `waits` are those between repeats while the host says that it does not know the agent. */
async function updateEntry(host: Host, wanted: Wanted, waits: readonly number[] = []): Promise<void> {
  const { id, name, workspace } = wanted;
  const update = () => writeConfig(host, "agents.update", { agentId: id, name, workspace });
  await written(host, id, {
    write: () => patiently(update, waits),
    async isThere() {
      const entry = find(await listEntries(host), id);
      return entry !== undefined && fits(entry, wanted);
    },
  });
}

/**
 * Has a host forget an agent: what it does is ended, its entry and files go, then its session. What is not there is fine;
 * a host's own agent stays. Rejects with a GatewayError, also when the agent cannot be brought to rest.
 */
export async function removeEntry(host: Host, session_key: string): Promise<void> {
  const id = hostAgentId(session_key);
  if (id.toLowerCase() === HOSTS_OWN) return;
  await endRuns(host, session_key);
  const remove = () => writeConfig(host, "agents.delete", { agentId: id, deleteFiles: true });
  await written(host, id, {
    write: () => unless(isGone, remove),
    isThere: async () => find(await listRows(host), id) === undefined,
  });
  await unless(isGone, () => host.call("sessions.delete", { key: session_key }));
}

/** What is aborted needs a while to end, and something new may have begun meanwhile. */
async function endRuns(host: Host, session_key: string): Promise<void> {
  const abort = () => unless(isGone, () => host.call("chat.abort", { sessionKey: session_key }));
  const { abort_ms, dies_of_deleting_runs } = host.dialect;
  await abort();
  await pause(abort_ms);
  for (let tries = 1; dies_of_deleting_runs && record(await abort())?.aborted === true; tries += 1) {
    if (tries === MAX_TRIES) throw new GatewayError("The agent is still at work on its host.", { retryable: true });
    await pause(abort_ms);
  }
}

/** A turn for each try, so that nobody waits for a host that is away, or for one that will not do it. */
const writeConfig = (host: Host, method: string, params: object): Promise<unknown> =>
  host.repeat(method, () => host.inTurn(() => host.callOnce(method, params)));

/** Writes, and where hosts lose writes looks whether it is there, at once and a moment later, before it writes again. */
async function written(
  host: Host,
  id: string,
  { write, isThere }: { write: () => Promise<unknown>; isThere: () => Promise<boolean> },
): Promise<void> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    await write();
    if (!host.dialect.loses_writes || (await isThere())) return;
    await pause(host.dialect.settle_ms);
    if (await isThere()) return;
  }
  throw new GatewayError(`The host lost what was written of agent "${id}" ${MAX_TRIES} times.`, { retryable: true });
}

/** One attempt more than there are waits. */
async function patiently(work: () => Promise<unknown>, waits: readonly number[]): Promise<void> {
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

/** Runs a call for which some failures are as good as success. */
async function unless(isFine: (error: unknown) => boolean, call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    if (isFine(error)) return null;
    throw error;
  }
}

/** There is nothing left to remove, or the host keeps the session for good. */
const isGone = (error: unknown): boolean =>
  isMissingAgent(error) ||
  isMissingSession(error) ||
  (error instanceof GatewayError && /cannot delete the main session/i.test(error.message));
