import { type Placeholder, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import * as z from "zod";
import { wordPrefix } from "../schema/search-vector.ts";
import { splitWords } from "./search-words.ts";

const MAX_QUERY = 200;
/** Further words are ignored. */
const MAX_WORDS = 10;

/** The text of a search. */
export const SearchText = z
  .string()
  .min(1, { abort: true })
  .max(MAX_QUERY, { abort: true })
  .optional()
  .describe("Only items in which each of these words begins a word, in any case.");

/**
 * What `rowsWithWords` searches for: rows of the owners that have a word that begins with each word of `text`. It may find rows
 * of an owner with a similar id too, so the query that reads them names the owner. Null finds nothing.
 */
export function toWordQuery(owners: readonly string[], text: string): string | null {
  const words = toWords(text);
  const prefixes = [...new Set(owners.map(wordPrefix))];
  if (words.length === 0 || prefixes.length === 0) return null;
  return words.map((word) => `(${prefixes.map((prefix) => `'${prefix}${word}':*`).join(" | ")})`).join(" & ");
}

/**
 * A subquery of the rows that a search finds. It is planned by itself (`offset 0`) and without knowledge of the words, which
 * are a subquery: for common words PostgreSQL would read the whole table, and compute the words of each row again.
 */
export const rowsWithWords = (table: PgTable, vector: SQL, query: Placeholder): SQL =>
  sql`(select * from ${table} where ${vector} @@ (select lower(${query}::text)::tsquery) offset 0)`;

/** The words contain nothing that a tsquery gives a meaning to. */
const toWords = (text: string): string[] => [...new Set(splitWords(text))].slice(0, MAX_WORDS);
