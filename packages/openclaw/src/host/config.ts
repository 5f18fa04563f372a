import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { trimEndOf } from "@board/core/values/text";
import { GatewayError } from "../wire/gateway-error.ts";
import { lazyObject } from "@board/core/values/wire";

/** The only settings that this service writes for its agents in a host's configuration. */
interface EntrySettings {
  workspace?: string;
  heartbeat?: Record<string, unknown>;
}

export interface DesiredEntry {
  /** The host's id of the agent. */
  id: string;
  settings: EntrySettings;
}

const HostConfig = lazyObject(() => ({
  hash: z
    .string()
    .nullish()
    .transform((hash) => hash || null),
  config: z.record(z.string(), z.unknown()),
}));
type HostConfig = z.infer<typeof HostConfig>;

/** Parses the response to config.get. Throws if it has no configuration, because a patch would then replace all agents. */
export function toHostConfig(payload: unknown): HostConfig {
  const read = HostConfig.safeParse(payload);
  if (read.success) return read.data;
  throw new GatewayError("Gateway did not return its configuration.", { retryable: false });
}

/**
 * Creates the patch that gives the service's agents their settings, in the layout of the configuration. Returns null when nothing
 * would change, because hosts may restart for any patch. Some hosts replace the list of agents and others merge it, so the whole
 * list is sent, including the host's other settings.
 */
export function createEntriesPatch(config: HostConfig["config"], desired: readonly DesiredEntry[]): object | null {
  const { entries, list } = asObject(config["agents"]);
  if (isObject(entries)) {
    const changes = desired.some(({ id, settings }) => !isDeepStrictEqual(withSettings(entries[id], settings), entries[id]));
    return changes ? { agents: { entries: Object.fromEntries(desired.map(({ id, settings }) => [id, settings])) } } : null;
  }
  const present: unknown[] = Array.isArray(list) ? list : [];
  const settingsById = new Map(desired.map(({ id, settings }) => [id, settings]));
  const kept = present.map((entry) => {
    const settings = settingsById.get(entryId(entry));
    return settings ? withSettings(entry, settings) : entry;
  });
  const present_ids = new Set(present.map(entryId));
  const added = desired.filter(({ id }) => !present_ids.has(id)).map(({ id, settings }) => mergeSettings({ id }, settings));
  const next = [...kept, ...added];
  return isDeepStrictEqual(next, present) ? null : { agents: { list: next } };
}

/**
 * Merges the service's settings into an entry. If the entry already has this workspace, the host's spelling of the path is kept.
 */
function withSettings(entry: unknown, settings: EntrySettings): Record<string, unknown> {
  const { workspace } = asObject(entry);
  const is_same_path =
    settings.workspace !== undefined && typeof workspace === "string" && isSamePath(workspace, settings.workspace);
  return mergeSettings(entry, is_same_path ? { ...settings, workspace } : settings);
}

/**
 * Returns whether a host's path is the desired path. Hosts store paths as absolute: `~/a` becomes `/home/x/a`, and `a` becomes a
 * folder in a directory of the host's choice, so only the end of the path can be compared.
 */
export function isSamePath(stored: string, desired: string): boolean {
  const [path, wanted] = [stored, desired].map((text) => trimEndOf(text.trim(), "/")) as [string, string];
  if (path === wanted) return true;
  return !wanted.startsWith("/") && path.startsWith("/") && path.endsWith(`/${wanted.replace(/^(~|\.)\//, "")}`);
}

/** Merges settings like a JSON merge patch, except that a null or undefined value changes nothing. */
function mergeSettings(stored: unknown, desired: object): Record<string, unknown> {
  const next = { ...asObject(stored) };
  for (const [key, value] of Object.entries(desired)) {
    if (value === null || value === undefined) continue;
    next[key] = isObject(value) ? mergeSettings(next[key], value) : value;
  }
  return next;
}

/** Reads the workspace of each agent from a configuration of either layout: an object of entries or a list. */
export function readConfiguredWorkspaces(config: HostConfig["config"]): Map<string, string> {
  const { entries, list } = asObject(config["agents"]);
  const named = isObject(entries)
    ? Object.entries(entries)
    : Array.isArray(list)
      ? list.map((entry) => [entryId(entry), entry] as const)
      : [];
  return new Map(
    named.flatMap(([id, entry]) => {
      const { workspace } = asObject(entry);
      return typeof workspace === "string" ? [[id, workspace]] : [];
    }),
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const asObject = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
/** Returns the id of an entry, or an empty string when the host's id is not a string. */
const entryId = (entry: unknown): string => {
  const { id } = asObject(entry);
  return typeof id === "string" ? id : "";
};

export const isStaleConfigError = (error: unknown): boolean => error instanceof GatewayError && error.is_conflict;

const Issues = lazyObject(() => ({ issues: z.array(z.object({ path: z.string(), message: z.string() })) }));

/** Lists the written keys that an `invalid config` error names. The host does not know these keys or refuses their values. */
export function listRefusedKeys(error: unknown, desired: readonly DesiredEntry[]): string[] {
  if (!(error instanceof GatewayError) || !/invalid config/i.test(error.message)) return [];
  const sent = new Set(desired.flatMap(({ settings }) => [...Object.keys(settings), ...Object.keys(settings.heartbeat ?? {})]));
  const named = parseIssues(error).flatMap(({ path, message }) => {
    const unknown = [...message.matchAll(/"([^"]+)"/g)].map((match) => match[1]!).filter((name) => sent.has(name));
    const deepest = path.split(".").findLast((name) => sent.has(name));
    return unknown.length > 0 ? unknown : deepest === undefined ? [] : [deepest];
  });
  return [...new Set(named)];
}

/** Reads the issues from the error's details, or from its text: `invalid config: <path>: <message>; …`. */
function parseIssues(error: GatewayError): z.infer<typeof Issues>["issues"] {
  const detailed = Issues.safeParse(error.failure.details);
  if (detailed.success) return detailed.data.issues;
  const listed = error.message.replace(/^.*?invalid config:?/i, "").split(";");
  return listed.map((text) => {
    const [path = "", ...message] = text.split(":");
    return { path: path.trim(), message: message.join(":") };
  });
}

export function omitKeys({ id, settings }: DesiredEntry, keys: readonly string[]): DesiredEntry {
  const without = (object: object) => Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
  const { heartbeat } = settings;
  return { id, settings: without({ ...settings, ...(heartbeat ? { heartbeat: without(heartbeat) } : {}) }) };
}

/** Replaces the heartbeat target `last` with the target that has the same effect on this host. */
export function replaceLastTarget({ id, settings }: DesiredEntry, target: string): DesiredEntry {
  const { heartbeat } = settings;
  if (heartbeat?.["target"] !== "last") return { id, settings };
  return { id, settings: { ...settings, heartbeat: { ...heartbeat, target } } };
}
