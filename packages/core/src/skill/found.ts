import { cut } from "../text.ts";
import { MAX_NAME, oneLine } from "../wire.ts";

/** In the root of a repository, the list of its skills. */
export const INDEX_FILE = "skills_index.json";

/** A skill as it was found in a pack. */
export interface FoundSkill {
  name: string;
  description: string | null;
  category: string | null;
  risk: string | null;
  source_label: string | null;
  source_url: string;
  metadata: Record<string, unknown>;
}

/** The repository that is looked through, at the branch that was read. */
export interface Place {
  source_url: string;
  branch: string;
}

const MAX_DESCRIPTION = 2_000;
const MAX_WARNINGS = 50;
const MAX_WARNING = 300;

/** What is wrong with a pack, told once and in bounds: everything in it was written by somebody else. */
export class Warnings {
  readonly #texts: string[] = [];
  #left_out = 0;

  add(text: string): void {
    if (this.#texts.length < MAX_WARNINGS) this.#texts.push(cut(oneLine(storable(text)), MAX_WARNING));
    else this.#left_out += 1;
  }

  list(): string[] {
    return this.#left_out === 0 ? [...this.#texts] : [...this.#texts, `${this.#left_out} more warnings`];
  }
}

/** The address of a folder in the repository; the root has none of its own. */
export function urlOf({ source_url, branch }: Place, folder: string): string {
  const tail = folder.split("/").map(encodeURIComponent).join("/");
  return `${source_url}/tree/${branch}${folder === "" ? "" : `/${tail}`}`;
}

/** The last part of a path, and of the root the repository. */
export const folderName = (place: Place, folder: string): string =>
  (folder || place.source_url).split("/").findLast((part) => part !== "") ?? "";

export const toName = (text: unknown): string | null => toLine(text, MAX_NAME);
export const toDescription = (text: unknown): string | null => toLine(text, MAX_DESCRIPTION);

/** One line of text; null for a blank one, and for what is none. */
function toLine(text: unknown, max: number): string | null {
  return typeof text === "string" ? cut(oneLine(storable(text)).replace(/\s+/g, " "), max).trim() || null : null;
}

/** The database takes neither NUL nor halves of surrogate pairs. */
export const storable = (text: string): string => text.replaceAll("\0", "").toWellFormed();
