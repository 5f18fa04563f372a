import { toSafeJson, toSafeLine } from "./text.ts";

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | null;
  /** Number of characters after which a cell is cut. */
  max?: number;
}

/** Prints results: tables and lines for people, JSON for programs. */
export interface Output {
  readonly json: boolean;
  line(text?: string): void;
  /** Prints one result. With `--json` this is `value`, otherwise `print` prints it. */
  result(value: unknown, print: () => void): void;
  /** Prints one of several results that arrive over time. As JSON, each result is one line. */
  event(value: unknown, print: () => void): void;
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): void;
  bold(text: string): string;
}

interface Terminal {
  isTTY?: boolean;
  write(text: string): unknown;
}

export function createOutput(terminal: Terminal, json: boolean, environment: NodeJS.ProcessEnv): Output {
  const has = (name: string) => (environment[name] ?? "") !== "";
  const isColored = !has("NO_COLOR") && (has("FORCE_COLOR") || (terminal.isTTY === true && environment["TERM"] !== "dumb"));
  const bold = (text: string) => (isColored ? `\u001b[1m${text}\u001b[22m` : text);
  const line = (text = "") => void terminal.write(`${text}\n`);
  return {
    json,
    line,
    bold,
    result(value, print) {
      if (json) line(toSafeJson(value, 2));
      else print();
    },
    event(value, print) {
      if (json) line(toSafeJson(value));
      else print();
    },
    table(rows, columns, empty) {
      if (rows.length === 0) return line(empty);
      const cells = rows.map((row) => columns.map(({ value, max }) => toSafeLine(String(value(row) ?? ""), max)));
      const widths = columns.map(({ title }, index) => Math.max(title.length, ...cells.map((row) => row[index]!.length)));
      const format = (row: string[]) =>
        row
          .map((cell, index) => cell.padEnd(widths[index]!))
          .join("  ")
          .trimEnd();
      line(bold(format(columns.map(({ title }) => title.toUpperCase()))));
      for (const row of cells) line(format(row));
    },
  };
}
