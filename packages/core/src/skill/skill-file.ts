import { parse } from "yaml";
import { type FoundSkill, folderName, type Place, storable, toDescription, toName, urlOf } from "./found.ts";

export const SKILL_FILE = "SKILL.md";

/** Real front matter has a few lines. A parser can be kept busy for long by a text that was made for it. */
const MAX_YAML = 8_000;
const YAML = { schema: "failsafe", maxAliasCount: 0, uniqueKeys: false, prettyErrors: false, logLevel: "error" } as const;

interface Facts {
  name: string | null;
  description: string | null;
}

/** The skill that a SKILL.md tells of (contract skills-souls.md §2). `folder` is where the file lies, empty for the root. */
export function readSkillFile(text: string, folder: string, place: Place): FoundSkill {
  const { front, lines } = split(text);
  const stated: Facts = front === null ? { name: null, description: null } : readFront(front);
  const seen = readBody(lines);
  return {
    name: stated.name ?? seen.name ?? toName(folderName(place, folder)) ?? "Skill",
    description: stated.description ?? seen.description,
    category: null,
    risk: null,
    source_label: null,
    source_url: urlOf(place, folder),
    metadata: { discovery_mode: "skills_md", pack_branch: place.branch, skill_dir: storable(folder) },
  };
}

function split(text: string): { front: string | null; lines: string[] } {
  const lines = text.split(/\r\n|\n|\r/);
  const isFence = (line: string) => /^---\s*$/.test(line);
  const end = isFence(lines[0] ?? "") ? lines.findIndex((line, index) => index > 0 && isFence(line)) : -1;
  return end < 0 ? { front: null, lines } : { front: lines.slice(1, end).join("\n"), lines: lines.slice(end + 1) };
}

/**
 * Front matter is YAML; all scalars are wanted as text, and nothing refers to anything. Much of what people write there is
 * none, mostly for a colon in a text without quotes: of that each line is taken by itself.
 */
function readFront(front: string): Facts {
  const { name, description } = parseFront(front) ?? readLines(front);
  return { name: toName(name), description: toDescription(description) };
}

function parseFront(front: string): Record<string, unknown> | null {
  try {
    const values: unknown = front.length > MAX_YAML ? null : parse(front, YAML);
    return typeof values === "object" ? (values as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** `key: value` of each line, the value without quotes around it. */
const readLines = (front: string): Record<string, unknown> =>
  Object.fromEntries(
    [...front.matchAll(/^(\w+):[ \t]+(.*)$/gm)].map(([, key = "", value = ""]) => [
      key,
      value.trim().replace(/^(["'])(.*)\1$/, "$2"),
    ]),
  );

/** The first heading and the first line of plain text, neither of them in a block of code. */
function readBody(lines: readonly string[]): Facts {
  const facts: Facts = { name: null, description: null };
  let in_code = false;
  for (const line of lines) {
    const text = line.trim();
    if (/^(```|~~~)/.test(text)) in_code = !in_code;
    else if (!in_code) {
      const heading = /^#{1,6}\s+(.*?)[\s#]*$/.exec(text)?.[1];
      if (heading !== undefined) facts.name ??= toName(heading);
      else if (!/^(#|<!--|-{3,}$)/.test(text)) facts.description ??= toDescription(text);
    }
    if (facts.name !== null && facts.description !== null) break;
  }
  return facts;
}
