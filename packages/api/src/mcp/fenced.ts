import { fence, fenceMessage, toPlainText } from "@board/core/values/text";
import { oneLine } from "@board/core/values/wire";
import type { Beginning } from "./limits.ts";

/**
 * Puts text that others wrote into a fence, so that a model does not mistake it for text of the service. `about` introduces the
 * text and must come from the database alone: what the text is, who wrote it and when. A test checks what is outside of fences.
 */
export const fenced = (about: string, { shown, rest }: Beginning): string[] => [
  `${about}:`,
  fenceMessage(shown),
  ...(rest === null ? [] : [rest]),
];

/** Fences data from outside the organization like `fenced`, but tells the model to take no instruction from it. */
export const fencedData = (about: string, text: string): string[] => [`${about}:`, fence(toPlainText(text))];

/** Formats short texts that others wrote, one per line, each with a label. */
export const labelled = (lines: Readonly<Record<string, string>>): string =>
  Object.entries(lines)
    .map(([label, text]) => `${label}: ${oneLine(text)}`)
    .join("\n");

/**
 * Describes a list: first numbered lines with what the service knows about each row, then all names in one fence with the same
 * numbers.
 */
export function fencedRows(about: string, rows: readonly { fact: string; name: string }[]): string[] {
  if (rows.length === 0) return [];
  const names = rows.map(({ name }, index) => `${index + 1}. ${oneLine(name)}`);
  return [`${about}:`, ...rows.map(({ fact }, index) => `${index + 1}. ${fact}`), fenceMessage(names.join("\n"))];
}
