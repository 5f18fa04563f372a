import { MAX_SEARCHED_CHARS, MAX_WORD, SEPARATORS } from "../schema/search-vector.ts";
import { truncate } from "../values/text.ts";

/** PostgreSQL stores no NUL. */
const SEPARATOR = new RegExp(`[\\u0000${SEPARATORS}]+`, "u");

/** The words of a text, of which long ones are cut as in the index. Their case is as in the text. */
export const splitWords = (text: string): string[] =>
  text
    .split(SEPARATOR)
    .flatMap((word) => (word.length <= MAX_WORD ? word : cutWord(Array.from(word))))
    .filter(Boolean);

/**
 * The column `words` of a row, from texts that may be null: each word once, between spaces. PostgreSQL needs ten times as
 * long to split a text by a regular expression as to split this.
 */
export function toSearchWords(...texts: (string | null)[]): string {
  const words = texts.flatMap((text) => (text === null ? [] : splitWords(truncate(text, MAX_SEARCHED_CHARS))));
  return [...new Set(words)].join(" ").toWellFormed();
}

const cutWord = (chars: string[]): string[] =>
  Array.from({ length: Math.ceil(chars.length / MAX_WORD) }, (_, index) =>
    chars.slice(index * MAX_WORD, (index + 1) * MAX_WORD).join(""),
  );
