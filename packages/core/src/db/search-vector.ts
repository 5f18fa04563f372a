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
const literal = (text: string) => sql.raw(`'${text}'`);

/**
 * The words of a row as a tsvector, each after the id of the row's owner: a search reads only what belongs to the owner, in
 * the index too. It is the expression of an index, which a query must repeat exactly. `texts` may be null.
 */
export const searchVector = (owner: SQLWrapper, ...texts: SQLWrapper[]): SQL => toVector(splitTexts(owner, texts));

/** The same of a row with a column of its words (`toSearchWords`), which is null in rows that are older than the column. */
export function wordsVector(owner: SQLWrapper, words: SQLWrapper, ...texts: SQLWrapper[]): SQL {
  const owned = sql`replace(' ' || lower(${words}), ' ', ' ' || ${owner}::text || '/')`;
  return toVector(sql`case when ${words} is null then ${splitTexts(owner, texts)} else ${owned} end`);
}

const toVector = (owned: SQL): SQL => sql`array_to_tsvector(array_remove(string_to_array(${owned}, ' '), ''))`;

function splitTexts(owner: SQLWrapper, texts: SQLWrapper[]): SQL {
  const parts = texts.map((text) => sql`left(coalesce(${text}, ''), ${sql.raw(String(MAX_SEARCHED_CHARS))})`);
  const text = sql`lower(${sql.join(parts, sql` || ' ' || `)})`;
  const cut = sql`regexp_replace(${text}, ${literal(`([^${SEPARATORS}]{${MAX_WORD}})`)}, ${literal("\\1 ")}, 'g')`;
  return sql`regexp_replace(' ' || ${cut}, ${literal(`[${SEPARATORS}]+`)}, ' ' || ${owner}::text || '/', 'g')`;
}
