import { parse } from "yaml";
import {
  type DiscoveredSkill,
  folderName,
  type PackSource,
  toStorableText,
  toDescription,
  toName,
  folderUrl,
} from "./discovered-skill.ts";

export const SKILL_FILE = "SKILL.md";

/**
 * Front matter with more characters is not parsed as YAML, since a malicious file could keep the parser busy. Usually it has only a
 * few lines.
 */
const MAX_YAML = 8_000;
const YAML = { schema: "failsafe", maxAliasCount: 0, uniqueKeys: false, prettyErrors: false, logLevel: "error" } as const;

interface NameAndDescription {
  name: string | null;
  description: string | null;
}

/**
 * Returns the skill that a SKILL.md describes (docs/reference/skills.md#skill-files). `folder` is the path of the file's folder,
 * empty for the root.
 */
export function parseSkillFile(text: string, folder: string, source: PackSource): DiscoveredSkill {
  const { front, lines } = splitFrontMatter(text);
  const fromFrontMatter: NameAndDescription = front === null ? { name: null, description: null } : parseFrontMatter(front);
  const fromBody = parseBody(lines);
  return {
    name: fromFrontMatter.name ?? fromBody.name ?? toName(folderName(source, folder)) ?? "Skill",
    description: fromFrontMatter.description ?? fromBody.description,
    category: null,
    risk: null,
    source_label: null,
    source_url: folderUrl(source, folder),
    metadata: { discovery_mode: "skills_md", pack_branch: source.branch, skill_dir: toStorableText(folder) },
  };
}

function splitFrontMatter(text: string): { front: string | null; lines: string[] } {
  const lines = text.split(/\r\n|\n|\r/);
  const isFence = (line: string) => /^---\s*$/.test(line);
  const end = isFence(lines[0] ?? "") ? lines.findIndex((line, index) => index > 0 && isFence(line)) : -1;
  return end < 0 ? { front: null, lines } : { front: lines.slice(1, end).join("\n"), lines: lines.slice(end + 1) };
}

/**
 * Reads front matter as YAML, with scalars as strings and without aliases. Invalid YAML is read line by line, because often only
 * a colon in an unquoted string makes it invalid.
 */
function parseFrontMatter(front: string): NameAndDescription {
  const { name, description } = parseYaml(front) ?? parseLines(front);
  return { name: toName(name), description: toDescription(description) };
}

function parseYaml(front: string): Record<string, unknown> | null {
  try {
    const values: unknown = front.length > MAX_YAML ? null : parse(front, YAML);
    return typeof values === "object" ? (values as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** Reads `key: value` from each line and removes quotes around the value. */
const parseLines = (front: string): Record<string, unknown> =>
  Object.fromEntries(
    [...front.matchAll(/^(\w+):[ \t]+(.*)$/gm)].map(([, key = "", value = ""]) => [key, withoutQuotes(value.trim())]),
  );

const withoutQuotes = (text: string): string =>
  text.length > 1 && /^["']/.test(text) && text.at(-1) === text[0] ? text.slice(1, -1) : text;

/** Takes the first heading as the name and the first line of plain text as the description. Code blocks are skipped. */
function parseBody(lines: readonly string[]): NameAndDescription {
  const result: NameAndDescription = { name: null, description: null };
  let inCodeBlock = false;
  for (const line of lines) {
    const text = line.trim();
    if (/^(```|~~~)/.test(text)) inCodeBlock = !inCodeBlock;
    else if (!inCodeBlock) {
      const [heading] = /^#{1,6}\s+/.exec(text) ?? [];
      if (heading !== undefined) result.name ??= toName(withoutClosingMarks(text.slice(heading.length)));
      else if (!/^(#|<!--|-{3,}$)/.test(text)) result.description ??= toDescription(text);
    }
    if (result.name !== null && result.description !== null) break;
  }
  return result;
}

/** Removes spaces and number signs at the end of a heading. A loop does this in linear time, which a pattern would not. */
function withoutClosingMarks(heading: string): string {
  let end = heading.length;
  while (end > 0 && (heading[end - 1] === "#" || heading[end - 1]!.trim() === "")) end -= 1;
  return heading.slice(0, end);
}
