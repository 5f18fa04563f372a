import { MAX_URL } from "../wire.ts";
import {
  type FoundSkill,
  folderName,
  INDEX_FILE,
  type Place,
  storable,
  toDescription,
  toName,
  urlOf,
  type Warnings,
} from "./found.ts";
import { decoded } from "./url.ts";

/**
 * The skills that a pack's index lists (contract skills-souls.md §2), in its order, at most `max`. Null, with a warning,
 * when it is no index: then the pack is looked through file by file.
 */
export function readIndex(text: string, place: Place, max: number, warnings: Warnings): FoundSkill[] | null {
  const entries = toEntries(text);
  if (!entries) {
    warnings.add(`${INDEX_FILE} cannot be read as JSON with a list of skills; the pack was looked through instead`);
    return null;
  }
  const found = new Map<string, FoundSkill>();
  for (const [position, entry] of entries.entries()) {
    const skill = toSkill(entry, place);
    if (typeof skill === "string") warnings.add(`Entry ${position + 1} of ${INDEX_FILE} was left out: ${skill}`);
    else if (found.has(skill.source_url)) warnings.add(`Entry ${position + 1} of ${INDEX_FILE} was left out: listed before`);
    else if (found.size < max) found.set(skill.source_url, skill);
    else {
      warnings.add(`${INDEX_FILE} lists more than ${max} skills; the others were left out`);
      break;
    }
  }
  return [...found.values()];
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

/** The skill of an entry, or why it is none. */
function toSkill(entry: unknown, place: Place): FoundSkill | string {
  if (typeof entry !== "object" || entry === null) return "not an object";
  const { path, source_url, name, description, category, risk } = entry as Record<string, unknown>;
  const at = isText(path)
    ? fromPath(path, place)
    : isText(source_url)
      ? fromUrl(source_url, place)
      : "neither path nor source_url";
  if (typeof at === "string") return at;
  if (at.source_url.length > MAX_URL) return "its address is too long";
  return {
    ...at,
    name: toName(name) ?? toName(at.fallback_name) ?? "Skill",
    description: toDescription(description),
    category: toName(category),
    risk: toName(risk),
  };
}

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";

type At = Pick<FoundSkill, "source_url" | "source_label" | "metadata"> & { fallback_name: string };

function fromPath(text: string, place: Place): At | string {
  const parts = storable(text)
    .trim()
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  if (parts.at(-1) === "SKILL.md") parts.pop();
  if (parts.includes("..")) return "its path leaves the repository";
  const path = parts.join("/");
  return {
    source_url: urlOf(place, path),
    source_label: path || null,
    metadata: { discovery_mode: "skills_index", pack_branch: place.branch, resolved_path: path },
    fallback_name: folderName(place, path),
  };
}

function fromUrl(text: string, place: Place): At | string {
  const given = storable(text).trim();
  const url = URL.parse(given);
  const own = new URL(place.source_url);
  const rest = url && restOf(url.pathname, own.pathname);
  const is_inside = url?.origin === own.origin && url.username === "" && url.password === "" && rest !== null;
  if (!url || !is_inside) return "its source_url is not in the pack's repository";
  return {
    source_url: place.source_url + rest,
    source_label: null,
    metadata: { discovery_mode: "skills_index", pack_branch: place.branch, source_url: given },
    fallback_name: folderName(place, decoded(rest)),
  };
}

/** The path below the repository's, without closing slashes; null for another repository. The code host ignores case. */
function restOf(path: string, repository: string): string | null {
  const bare = path.replace(/\/+$/, "");
  const head = bare.slice(0, repository.length);
  const rest = bare.slice(repository.length);
  return head.toLowerCase() === repository.toLowerCase() && /^(\/|$)/.test(rest) ? rest : null;
}
