import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { GatewayError } from "./client.ts";

/** What this service may set of one of its own agents in a host's configuration; nothing else of it is ever touched. */
export interface EntrySettings {
  workspace?: string;
  heartbeat?: Record<string, unknown>;
}

export interface WantedEntry {
  /** The host's id of the agent. */
  id: string;
  settings: EntrySettings;
}

const HostConfig = z.object({
  hash: z
    .string()
    .nullish()
    .transform((hash) => hash || null),
  config: z.record(z.string(), z.unknown()),
});
export type HostConfig = z.infer<typeof HostConfig>;

/** The answer to config.get. Refused when there is no configuration in it: a patch made from nothing would replace the list of agents. */
export function toHostConfig(payload: unknown): HostConfig {
  const read = HostConfig.safeParse(payload);
  if (read.success) return read.data;
  throw new GatewayError("Gateway did not show its configuration.", { retryable: false });
}

/**
 * The patch that gives our agents their settings, in the layout that the configuration itself has, or null when nothing
 * would change: hosts may restart even for an equal patch. Some hosts replace the list of agents and some merge it, so
 * all of it is sent, and what a host keeps beside ours in an entry stays.
 */
export function entriesPatch(config: HostConfig["config"], wanted: readonly WantedEntry[]): object | null {
  const { entries, list } = objectOf(config["agents"]);
  if (isObject(entries)) {
    const changes = wanted.some(({ id, settings }) => !isDeepStrictEqual(configured(entries[id], settings), entries[id]));
    return changes ? { agents: { entries: Object.fromEntries(wanted.map(({ id, settings }) => [id, settings])) } } : null;
  }
  const present: unknown[] = Array.isArray(list) ? list : [];
  const own = new Map(wanted.map(({ id, settings }) => [id, settings]));
  const kept = present.map((entry) => {
    const settings = own.get(idOf(entry));
    return settings ? configured(entry, settings) : entry;
  });
  const known = new Set(present.map(idOf));
  const added = wanted.filter(({ id }) => !known.has(id)).map(({ id, settings }) => laidOver({ id }, settings));
  const next = [...kept, ...added];
  return isDeepStrictEqual(next, present) ? null : { agents: { list: next } };
}

/** An entry with our settings. The same workspace in the host's own spelling is no change. */
function configured(entry: unknown, settings: EntrySettings): Record<string, unknown> {
  const { workspace } = objectOf(entry);
  const same = settings.workspace !== undefined && typeof workspace === "string" && isSamePath(workspace, settings.workspace);
  return laidOver(entry, same ? { ...settings, workspace } : settings);
}

/**
 * Whether a host's path is the wanted one. Hosts make paths absolute when they store them: `~/a` becomes `/home/x/a`, and
 * `a` a folder below theirs. Which one is their affair, so that any will do.
 */
export function isSamePath(stored: string, wanted: string): boolean {
  const [path, asked] = [stored, wanted].map((one) => one.trim().replace(/\/+$/, "")) as [string, string];
  if (path === asked) return true;
  return !asked.startsWith("/") && path.startsWith("/") && path.endsWith(`/${asked.replace(/^(~|\.)\//, "")}`);
}

/** Like a merge patch: objects merge, other values replace. Null is no value. */
function laidOver(stored: unknown, wanted: object): Record<string, unknown> {
  const next = { ...objectOf(stored) };
  for (const [key, value] of Object.entries(wanted)) {
    if (value === null || value === undefined) continue;
    next[key] = isObject(value) ? laidOver(next[key], value) : value;
  }
  return next;
}

/** The agents that a configuration names with the workspaces it has for them, in either layout. */
export function configuredWorkspaces(config: HostConfig["config"]): Map<string, string> {
  const { entries, list } = objectOf(config["agents"]);
  const named = isObject(entries) ? Object.entries(entries) : Array.isArray(list) ? list.map((one) => [idOf(one), one]) : [];
  return new Map(
    named.flatMap(([id, entry]) => {
      const { workspace } = objectOf(entry);
      return typeof workspace === "string" ? [[String(id), workspace]] : [];
    }),
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
const idOf = (entry: unknown): string => String(objectOf(entry)["id"]);

/** The configuration was written by somebody else since it was read. */
export const isStale = (error: unknown): boolean =>
  error instanceof GatewayError && /config changed since last load|base hash required/i.test(error.message);

const Issues = z.object({ issues: z.array(z.object({ path: z.string(), message: z.string() })) });

/** Our keys that an `invalid config` answer names: unknown to the host, or with a value it does not take. */
export function refusedKeys(error: unknown, wanted: readonly WantedEntry[]): string[] {
  if (!(error instanceof GatewayError) || !/invalid config/i.test(error.message)) return [];
  const sent = new Set(wanted.flatMap(({ settings }) => [...Object.keys(settings), ...Object.keys(settings.heartbeat ?? {})]));
  const named = issuesOf(error).flatMap(({ path, message }) => {
    const unknown = [...message.matchAll(/"([^"]+)"/g)].map((match) => match[1]!).filter((name) => sent.has(name));
    const deepest = path.split(".").findLast((name) => sent.has(name));
    return unknown.length > 0 ? unknown : deepest === undefined ? [] : [deepest];
  });
  return [...new Set(named)];
}

/** From the details, or for hosts that have them in the text only: `invalid config: <path>: <message>; …`. */
function issuesOf(error: GatewayError): z.infer<typeof Issues>["issues"] {
  const detailed = Issues.safeParse(error.failure.details);
  if (detailed.success) return detailed.data.issues;
  const listed = error.message.replace(/^.*?invalid config:?/i, "").split(";");
  return listed.map((text) => {
    const [path = "", ...message] = text.split(":");
    return { path: path.trim(), message: message.join(":") };
  });
}

export function withoutKeys({ id, settings }: WantedEntry, keys: readonly string[]): WantedEntry {
  const without = (object: object) => Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
  const { heartbeat } = settings;
  return { id, settings: without({ ...settings, ...(heartbeat ? { heartbeat: without(heartbeat) } : {}) }) };
}
