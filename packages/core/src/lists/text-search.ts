import { type AnyColumn, type SQL, sql } from "drizzle-orm";
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

/** A table that has an index of `vector`. */
interface SearchedTable {
  table: PgTable;
  id: AnyColumn;
  vector: SQL;
}

/**
 * A search for rows of the owners that have a word that begins with each word of `text`. It may find rows of an owner with
 * a similar id too, so the query that reads them names the owner.
 */
export interface Search extends SearchedTable {
  owners: readonly string[];
  text: string;
}

/**
 * A subquery of the rows that a search finds. It is planned by itself (`offset 0`) and without knowledge of the words, which
 * are a subquery: for common words PostgreSQL would read the whole table, and compute the words of each row again.
 */
export function rowsWithWords({ table, vector, owners, text }: Search): SQL {
  const words = toWords(text);
  const prefixes = [...new Set(owners.map(wordPrefix))];
  const query = words.map((word) => `(${prefixes.map((prefix) => `'${prefix}${word}':*`).join(" | ")})`).join(" & ");
  const hasWords =
    words.length === 0 || owners.length === 0 ? sql`false` : sql`${vector} @@ (select lower(${query}::text)::tsquery)`;
  return sql`(select * from ${table} where ${hasWords} offset 0)`;
}

/** The words contain nothing that a tsquery gives a meaning to. */
const toWords = (text: string): string[] => [...new Set(splitWords(text))].slice(0, MAX_WORDS);
