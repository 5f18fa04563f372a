import { fence, fenceMessage, toPlainText } from "@board/core/values/text";
import { oneLine } from "@board/core/values/wire";
import type { Beginning } from "./limits.ts";

/**
 * A text of others in the text of a result. `about` is what the service says of it: what it is, who wrote it and when, from the
 * database alone. Everything that others have written or named is in a fence; a test compares what is outside.
 */
export const fenced = (about: string, { shown, rest }: Beginning): string[] => [
  `${about}:`,
  fenceMessage(shown),
  ...(rest === null ? [] : [rest]),
];

/** The same for a text from outside the organization, in which nothing is an instruction. */
export const fencedData = (about: string, text: string): string[] => [`${about}:`, fence(toPlainText(text))];

/** Short texts of others with their labels, one per line. */
export const labelled = (lines: Readonly<Record<string, string>>): string =>
  Object.entries(lines)
    .map(([label, text]) => `${label}: ${oneLine(text)}`)
    .join("\n");

/** Things in a list: what the service says of each in a numbered line, then their names in one fence by the same numbers. */
export function fencedRows(about: string, rows: readonly { fact: string; name: string }[]): string[] {
  if (rows.length === 0) return [];
  const names = rows.map(({ name }, index) => `${index + 1}. ${oneLine(name)}`);
  return [`${about}:`, ...rows.map(({ fact }, index) => `${index + 1}. ${fact}`), fenceMessage(names.join("\n"))];
}
