/** Matches the beginning of a formula. Names are free text, and a spreadsheet would run a text that begins like this. */
const FORMULA = /^[=+\-@\t\r]/;

function toCell(value: string | number | boolean | null): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns a line of CSV (RFC 4180). */
export const toCsvLine = (cells: readonly (string | number | boolean | null)[]): string => `${cells.map(toCell).join(",")}\r\n`;
