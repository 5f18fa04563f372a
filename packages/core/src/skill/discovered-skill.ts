import { truncate } from "../values/text.ts";
import { MAX_NAME, oneLine } from "../values/wire.ts";

/** The file in the root of a repository that lists its skills. */
export const INDEX_FILE = "skills_index.json";

/** A skill that was discovered in a pack. */
export interface DiscoveredSkill {
  name: string;
  description: string | null;
  category: string | null;
  risk: string | null;
  source_label: string | null;
  source_url: string;
  metadata: Record<string, unknown>;
}

/** The repository of a pack, and the branch to read. */
export interface PackSource {
  source_url: string;
  branch: string;
}

const MAX_DESCRIPTION = 2_000;
const MAX_WARNINGS = 50;
const MAX_WARNING = 300;

/** Warnings about a pack. Their number and length are limited, because a pack is untrusted input. */
export class Warnings {
  readonly #texts: string[] = [];
  #omitted = 0;

  add(text: string): void {
    if (this.#texts.length < MAX_WARNINGS) this.#texts.push(truncate(oneLine(toStorableText(text)), MAX_WARNING));
    else this.#omitted += 1;
  }

  list(): string[] {
    return this.#omitted === 0 ? [...this.#texts] : [...this.#texts, `${this.#omitted} more warnings`];
  }
}

/** Returns the URL of a folder in the repository. For the root, the URL ends with the branch. */
export function folderUrl({ source_url, branch }: PackSource, folder: string): string {
  const tail = folder.split("/").map(encodeURIComponent).join("/");
  return `${source_url}/tree/${branch}${folder === "" ? "" : `/${tail}`}`;
}

/** Returns the last segment of a folder's path. For the root, returns the name of the repository. */
export const folderName = (source: PackSource, folder: string): string =>
  (folder || source.source_url).split("/").findLast((part) => part !== "") ?? "";

export const toName = (text: unknown): string | null => toLine(text, MAX_NAME);
export const toDescription = (text: unknown): string | null => toLine(text, MAX_DESCRIPTION);

/** Returns the text as one line, or null when it is blank or not a string. */
function toLine(text: unknown, max: number): string | null {
  return typeof text === "string" ? truncate(oneLine(toStorableText(text)).replace(/\s+/g, " "), max).trim() || null : null;
}

/** Removes NUL and lone surrogates, which PostgreSQL cannot store. */
export const toStorableText = (text: string): string => text.replaceAll("\0", "").toWellFormed();
