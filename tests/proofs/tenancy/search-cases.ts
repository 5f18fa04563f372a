import type { Endpoint } from "@board/api/endpoint";
import { SearchText } from "@board/core/lists/text-search";
import type * as z from "zod";
import type { AccessCase } from "./access-matrix.ts";
import { BOARD_MARK, GROUP_BOARD_MARK, ORGANIZATION_MARK, OTHER_BOARD_MARK } from "./seed-tenant.ts";

/** A word that a list is searched for. */
export interface Search {
  word: string;
  /** Whether the caller must find something. */
  finds: boolean;
}

/** Every text in the other organization has a word that begins like this. */
export const FOREIGN_WORD = "their";
const WORDS = [BOARD_MARK, OTHER_BOARD_MARK, GROUP_BOARD_MARK, ORGANIZATION_MARK, FOREIGN_WORD];
/** Callers who see texts on the home board in each of their lists. */
const FINDERS = new Set(["owner", "lead", "main agent"]);

/** Checks whether an operation is a list that can be searched for words. */
export const isSearchable = ({ spec }: Endpoint): boolean => (spec.query as z.ZodObject | undefined)?.shape.q === SearchText;

/**
 * Returns the given requests with `q`. A permitted request on the home board searches for the marker word of each board, also of
 * boards that the caller may not see. Every other request searches for the marker word of the home board.
 */
export function searchCases(trials: readonly AccessCase[]): AccessCase[] {
  return trials.flatMap((trial) => {
    const own = ownWord(trial.path);
    const words = trial.variation === null && trial.status === 200 ? WORDS : [own];
    return words.map((word) => ({
      ...trial,
      target: `${trial.target}${trial.target.includes("?") ? "&" : "?"}q=${word}`,
      variation: [trial.variation, `search for ${word}`].filter(Boolean).join(", "),
      search: { word, finds: word === own && trial.variation === null && FINDERS.has(trial.caller.name) },
    }));
  });
}

/** Returns the marker word that the caller must find. Entries of a group's memory have the marker word of the organization. */
const ownWord = (path: string): string => (path.includes("group") ? ORGANIZATION_MARK : BOARD_MARK);

/** Returns what is wrong with a page of search results, or null. The caller must not find any of the `hidden` words. */
export function findSearchProblem(
  { word, finds }: Search,
  { items, total }: { items: readonly unknown[]; total: number },
  hidden: readonly string[],
): string | null {
  if (total !== items.length) return `counts ${total} but shows ${items.length} for ${word}`;
  if (hidden.includes(word) && total > 0) return `finds what is ${word}`;
  return finds && total === 0 ? `finds nothing that is ${word}` : null;
}
