import { truncate, truncateMessage } from "@board/core/values/text";

/** The maximum length of a text in a result, in characters. */
export const MAX_CHARS = 4_000;
/** The maximum number of rows of a list in a result, unless the call asks for more. */
export const MAX_ROWS = 20;

/** Text that tells the model how to read the rest. A function receives the number of characters that were shown. */
type Way = string | ((shown_chars: number) => string);

/**
 * The beginning of a text with at most `MAX_CHARS` characters, and how to read the rest. `rest` is null if the text is complete.
 */
export interface Beginning {
  shown: string;
  rest: string | null;
}

export function beginningOf(text: string, way: Way): Beginning {
  const shown = truncate(text, MAX_CHARS);
  const left = text.length - shown.length;
  return { shown, rest: left === 0 ? null : `${left} more characters: ${typeof way === "string" ? way : way(shown.length)}` };
}

/** Cuts a text of the service like `beginningOf`. If the cut is inside a fence, it also closes the fence. */
export const beginningOfMessage = (text: string, way: string): Beginning => ({
  ...beginningOf(text, way),
  shown: truncateMessage(text, MAX_CHARS),
});

/** Joins the beginning and the instruction into one text. */
export const inline = ({ shown, rest }: Beginning): string => (rest === null ? shown : `${shown} [... ${rest}]`);

export const cut = (text: string, way: Way): string => inline(beginningOf(text, way));

/** Cuts a text of the service like `cut`. The instruction is on a separate line, since the last line may end a fence. */
export function cutMessage(text: string, way: string): string {
  const { shown, rest } = beginningOfMessage(text, way);
  return rest === null ? shown : `${shown}\n[... ${rest}]`;
}

/** Returns the object if its JSON has at most `MAX_CHARS` characters. Otherwise returns an object that says how to read it. */
export const smallObject = (value: Record<string, unknown>, way: string): Record<string, unknown> =>
  JSON.stringify(value).length <= MAX_CHARS ? value : { "...": way };

/** Returns the first rows of a list. */
export const firstRows = <T>(rows: readonly T[], max = MAX_ROWS): T[] => rows.slice(0, max);

/**
 * Returns a line for each list of which a result has only some rows. It says where the rest is. `lists` has the length of each
 * list, its place, and how many of its rows a result has.
 */
export const moreOf = (lists: Readonly<Record<string, readonly [length: number, place: string, max?: number]>>): string[] =>
  Object.entries(lists).flatMap(([name, [length, place, max = MAX_ROWS]]) =>
    length > max ? [`There are more ${name}: ${place}`] : [],
  );
