import { type SQL, type SQLWrapper, sql } from "drizzle-orm";

/** Only the beginning of a long text is searched, so that a row has a bounded number of words. */
export const MAX_SEARCHED_CHARS = 10_000;
/** Longer words are cut into words of this length: PostgreSQL refuses those of more than 2,046 bytes. */
export const MAX_WORD = 64;
/**
 * All characters between words: ASCII except letters and digits, and the general punctuation of Unicode. The ranges are
 * written out because the classes of a regular expression depend on the locale of the database.
 */
export const SEPARATORS =
  "\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00a9\\u00ab-\\u00b4\\u00b6-\\u00b9\\u00bb-\\u00bf\\u2000-\\u206f\\u3000-\\u303f\\uff00-\\uff0f";

/**
 * Digits of the owner's id before each word: few, because the index holds and compares them for every word. Owners may share
 * them, so a search names its owner in a condition as well.
 */
const OWNER_DIGITS = 8;
const literal = (text: string) => sql.raw(`'${text}'`);

/** What precedes each word of an owner's rows. */
export const wordPrefix = (owner_id: string): string => `${owner_id.slice(0, OWNER_DIGITS)}/`;
const prefixOf = (owner: SQLWrapper) => sql`left(${owner}::text, ${sql.raw(String(OWNER_DIGITS))}) || '/'`;

/**
 * The words of a row as a tsvector, each after digits of the owner's id, so that the index of a search leads to rows of the
 * owner. It is the expression of that index, which a query must repeat exactly. `texts` may be null.
 */
export const searchVector = (owner: SQLWrapper, ...texts: SQLWrapper[]): SQL => toVector(splitTexts(owner, texts));

/** The same of a row with a column of its words (`toSearchWords`), which is null in rows that are older than the column. */
export function wordsVector(owner: SQLWrapper, words: SQLWrapper, ...texts: SQLWrapper[]): SQL {
  const owned = sql`replace(' ' || lower(${words}), ' ', ' ' || ${prefixOf(owner)})`;
  return toVector(sql`case when ${words} is null then ${splitTexts(owner, texts)} else ${owned} end`);
}

const toVector = (owned: SQL): SQL => sql`array_to_tsvector(array_remove(string_to_array(${owned}, ' '), ''))`;

function splitTexts(owner: SQLWrapper, texts: SQLWrapper[]): SQL {
  const parts = texts.map((text) => sql`left(coalesce(${text}, ''), ${sql.raw(String(MAX_SEARCHED_CHARS))})`);
  const text = sql`lower(${sql.join(parts, sql` || ' ' || `)})`;
  const cut = sql`regexp_replace(${text}, ${literal(`([^${SEPARATORS}]{${MAX_WORD}})`)}, ${literal("\\1 ")}, 'g')`;
  return sql`regexp_replace(' ' || ${cut}, ${literal(`[${SEPARATORS}]+`)}, ' ' || ${prefixOf(owner)}, 'g')`;
}
