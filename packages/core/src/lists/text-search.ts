import { type Placeholder, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import * as z from "zod";
import { wordPrefix } from "../schema/search-vector.ts";
import { splitWords } from "./search-words.ts";

const MAX_QUERY = 200;
/** The maximum number of words in a search. Further words are ignored. */
const MAX_WORDS = 10;

/** The query parameter `q` of a search. */
export const SearchText = z
  .string()
  .min(1, { abort: true })
  .max(MAX_QUERY, { abort: true })
  .optional()
  .describe("Only items in which each of these words is the beginning of a word. Upper and lower case are the same.");

/**
 * Returns the tsquery for `rowsWithWords`: for each word of `text`, a row of the owners must have a word that begins with it. The
 * tsquery also matches rows of owners whose ids begin alike, so the query must filter by owner as well. Null matches nothing.
 */
export function toWordQuery(owners: readonly string[], text: string): string | null {
  const words = toWords(text);
  const prefixes = [...new Set(owners.map(wordPrefix))];
  if (words.length === 0 || prefixes.length === 0) return null;
  return words.map((word) => `(${prefixes.map((prefix) => `'${prefix}${word}':*`).join(" | ")})`).join(" & ");
}

/** Returns a LIKE pattern for each word of `text`, separated by spaces. A row that a search finds matches all of them. */
export function toWordPatterns(text: string): string | null {
  const words = toWords(text);
  return words.length === 0 ? null : words.map((word) => `%${word}%`).join(" ");
}

/**
 * Returns a subquery of the rows that a search finds. `offset 0` keeps the planner from merging it into the query, and the
 * inner select hides the words from the planner. Otherwise, for common words, PostgreSQL would read the whole table and compute
 * the words of each row.
 */
export const rowsWithWords = (table: PgTable, vector: SQL, query: Placeholder): SQL =>
  sql`(select * from ${table} where ${vector} @@ (select lower(${query}::text)::tsquery) offset 0)`;

/** Returns the different words of a search. They contain no character that has a special meaning in a tsquery. */
const toWords = (text: string): string[] => [...new Set(splitWords(text))].slice(0, MAX_WORDS);
