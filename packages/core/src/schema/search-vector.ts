import { type SQL, type SQLWrapper, sql } from "drizzle-orm";

/** How many characters of a text are searched, so that a row has a limited number of words. */
export const MAX_SEARCHED_CHARS = 10_000;
/** Longer words are split into pieces of this length, because PostgreSQL refuses words of more than 2,046 bytes. */
export const MAX_WORD = 64;
/**
 * All characters that separate words: ASCII except letters and digits, and Unicode's general punctuation. They are ranges,
 * because the character classes of a regular expression depend on the locale of the database.
 */
export const SEPARATORS =
  "\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00a9\\u00ab-\\u00b4\\u00b6-\\u00b9\\u00bb-\\u00bf\\u2000-\\u206f\\u3000-\\u303f\\uff00-\\uff0f";

/**
 * How many digits of the owner's id are put in front of each word. They are few, because the index stores and compares them for
 * every word. Different owners may have the same digits, so a search must also filter by owner.
 */
const OWNER_DIGITS = 8;
const literal = (text: string) => sql.raw(`'${text}'`);

/** Returns the prefix of every word in the rows of an owner. */
export const wordPrefix = (owner_id: string): string => `${owner_id.slice(0, OWNER_DIGITS)}/`;
const prefixOf = (owner: SQLWrapper) => sql`left(${owner}::text, ${sql.raw(String(OWNER_DIGITS))}) || '/'`;

/**
 * Returns the words of a row as a tsvector. Each word begins with digits of the owner's id, so that the index leads only to rows
 * of that owner. The index contains this expression, and queries must repeat it exactly. `texts` may be null.
 */
export const searchVector = (owner: SQLWrapper, ...texts: SQLWrapper[]): SQL => toVector(splitTexts(owner, texts));

/**
 * Returns the tsvector of a row that stores its words (`toSearchWords`) in a column. In rows that are older than the column it is
 * null, so their texts are split here as in `searchVector`.
 */
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
