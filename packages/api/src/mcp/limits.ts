import { truncate } from "@board/core/text";

/** The most characters of one text in a result. */
export const MAX_CHARS = 4_000;
/** The most rows of a list in a result, unless the call asks for more. */
export const MAX_ROWS = 20;

/** A text in at most `MAX_CHARS` characters. A cut one ends with how to read the rest, which may depend on where it begins. */
export function cut(text: string, way: string | ((shown_chars: number) => string)): string {
  if (text.length <= MAX_CHARS) return text;
  const shown = truncate(text, MAX_CHARS);
  const rest = typeof way === "string" ? way : way(shown.length);
  return `${shown} [... ${text.length - shown.length} more characters: ${rest}]`;
}

/** An object whose JSON has at most `MAX_CHARS` characters, else one that says how to read it. */
export const smallObject = (value: Record<string, unknown>, way: string): Record<string, unknown> =>
  JSON.stringify(value).length <= MAX_CHARS ? value : { "...": way };

/** The first rows of a list. */
export const firstRows = <T>(rows: readonly T[]): T[] => rows.slice(0, MAX_ROWS);
