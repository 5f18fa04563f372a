import { truncate, truncateMessage } from "@board/core/values/text";

/** The most characters of one text in a result. */
export const MAX_CHARS = 4_000;
/** The most rows of a list in a result, unless the call asks for more. */
export const MAX_ROWS = 20;

/** How to read the rest of a text, which may depend on where it begins. */
type Way = string | ((shown_chars: number) => string);

/** The beginning of a text in at most `MAX_CHARS` characters, and how to read the rest; null when it is whole. */
export interface Beginning {
  shown: string;
  rest: string | null;
}

export function beginningOf(text: string, way: Way): Beginning {
  const shown = truncate(text, MAX_CHARS);
  const left = text.length - shown.length;
  return { shown, rest: left === 0 ? null : `${left} more characters: ${typeof way === "string" ? way : way(shown.length)}` };
}

/** The same of a text of the service, which may hold texts of others in fences. */
export const beginningOfMessage = (text: string, way: string): Beginning => ({
  ...beginningOf(text, way),
  shown: truncateMessage(text, MAX_CHARS),
});

/** Both as one text. */
export const inline = ({ shown, rest }: Beginning): string => (rest === null ? shown : `${shown} [... ${rest}]`);

export const cut = (text: string, way: Way): string => inline(beginningOf(text, way));

/** The same of a text of the service. What is missing has its own line, since the line before it may end a fence. */
export function cutMessage(text: string, way: string): string {
  const { shown, rest } = beginningOfMessage(text, way);
  return rest === null ? shown : `${shown}\n[... ${rest}]`;
}

/** An object whose JSON has at most `MAX_CHARS` characters, else one that says how to read it. */
export const smallObject = (value: Record<string, unknown>, way: string): Record<string, unknown> =>
  JSON.stringify(value).length <= MAX_CHARS ? value : { "...": way };

/** The first rows of a list. */
export const firstRows = <T>(rows: readonly T[]): T[] => rows.slice(0, MAX_ROWS);
