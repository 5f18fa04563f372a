import { trimEndOf } from "../values/text.ts";
import { MAX_URL } from "../values/wire.ts";
import {
  type DiscoveredSkill,
  folderName,
  INDEX_FILE,
  type PackSource,
  toStorableText,
  toDescription,
  toName,
  folderUrl,
  type Warnings,
} from "./discovered-skill.ts";
import { decodeUriOrKeep } from "./url.ts";

/**
 * Returns the first `max` skills in the index of a pack (docs/reference/skills.md#pack-index). If the text is not an index, it adds
 * a warning and returns null. The caller then reads the SKILL.md files.
 */
export function parseIndex(text: string, source: PackSource, max: number, warnings: Warnings): DiscoveredSkill[] | null {
  const entries = toEntries(text);
  if (!entries) {
    warnings.add(`${INDEX_FILE} cannot be read as JSON with a list of skills; the SKILL.md files were read instead`);
    return null;
  }
  const skills = new Map<string, DiscoveredSkill>();
  for (const [position, entry] of entries.entries()) {
    const skill = toSkill(entry, source);
    if (typeof skill === "string") warnings.add(`Entry ${position + 1} of ${INDEX_FILE} was skipped: ${skill}`);
    else if (skills.has(skill.source_url))
      warnings.add(`Entry ${position + 1} of ${INDEX_FILE} was skipped: it is listed before`);
    else if (skills.size < max) skills.set(skill.source_url, skill);
    else {
      warnings.add(`${INDEX_FILE} lists more than ${max} skills; the others were skipped`);
      break;
    }
  }
  return [...skills.values()];
}

function toEntries(text: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    const list: unknown = Array.isArray(parsed) ? parsed : (parsed as { skills?: unknown } | null)?.skills;
    return Array.isArray(list) ? list : null;
  } catch {
    return null;
  }
}

/** Returns the skill of an entry, or a string that says why the entry is invalid. */
function toSkill(entry: unknown, source: PackSource): DiscoveredSkill | string {
  if (typeof entry !== "object" || entry === null) return "not an object";
  const { path, source_url, name, description, category, risk } = entry as Record<string, unknown>;
  if ([path, source_url].some((text) => isText(text) && text.length > MAX_URL)) return "its address is too long";
  const location = isText(path)
    ? locateByPath(path, source)
    : isText(source_url)
      ? locateByUrl(source_url, source)
      : "neither path nor source_url";
  if (typeof location === "string") return location;
  if (location.source_url.length > MAX_URL) return "its address is too long";
  return {
    ...location,
    name: toName(name) ?? toName(location.fallback_name) ?? "Skill",
    description: toDescription(description),
    category: toName(category),
    risk: toName(risk),
  };
}

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";

type SkillLocation = Pick<DiscoveredSkill, "source_url" | "source_label" | "metadata"> & { fallback_name: string };

function locateByPath(text: string, source: PackSource): SkillLocation | string {
  const parts = toStorableText(text)
    .trim()
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  if (parts.at(-1) === "SKILL.md") parts.pop();
  if (parts.includes("..")) return "its path leaves the repository";
  const path = parts.join("/");
  return {
    source_url: folderUrl(source, path),
    source_label: path || null,
    metadata: { discovery_mode: "skills_index", pack_branch: source.branch, resolved_path: path },
    fallback_name: folderName(source, path),
  };
}

function locateByUrl(text: string, source: PackSource): SkillLocation | string {
  const address = toStorableText(text).trim();
  const url = URL.parse(address);
  const repository = new URL(source.source_url);
  const path = url && pathBelow(url.pathname, repository.pathname);
  const isInside = url?.origin === repository.origin && url.username === "" && url.password === "" && path !== null;
  if (!url || !isInside) return "its source_url is not in the pack's repository";
  return {
    source_url: source.source_url + path,
    source_label: null,
    metadata: { discovery_mode: "skills_index", pack_branch: source.branch, source_url: address },
    fallback_name: folderName(source, decodeUriOrKeep(path)),
  };
}

/**
 * Returns the path within the repository, without trailing slashes. Returns null for another repository. Case is ignored, as on the
 * code host.
 */
function pathBelow(path: string, repository: string): string | null {
  const trimmed = trimEndOf(path, "/");
  const head = trimmed.slice(0, repository.length);
  const rest = trimmed.slice(repository.length);
  return head.toLowerCase() === repository.toLowerCase() && /^(\/|$)/.test(rest) ? rest : null;
}
