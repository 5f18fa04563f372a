import { styleText } from "node:util";
import { printLine } from "../terminal.ts";

type Style = Parameters<typeof styleText>[0];

/** A participant, as shown in the second column. */
export interface Participant {
  name: string;
  style: Style;
}

export interface DemoLog {
  /** Writes a line with time, participant and text. `strong` highlights an important event. */
  write(who: Participant, what: string, strong?: boolean): void;
  /** Prints plain text. */
  print(text?: string): void;
}

const NAME_WIDTH = 9;

/** Creates a log with three columns on standard output, with colors if the terminal supports them and NO_COLOR is not set. */
export function createDemoLog(): DemoLog {
  const started = performance.now();
  return {
    write({ name, style }, what, strong = false) {
      const head = `  ${formatElapsed(performance.now() - started)}  `;
      const name_column = `${name.padEnd(NAME_WIDTH)} `;
      const margin = head.length + name_column.length;
      const [first = "", ...rest] = wrap(what, terminalWidth(process.stdout) - margin);
      const show = (text: string) => (strong ? styleText("bold", text) : text);
      printLine(`${styleText("dim", head)}${styleText(style, name_column)}${show(first)}`);
      for (const line of rest) printLine(`${" ".repeat(margin)}${show(line)}`);
    },
    print: (text = "") => void printLine(text),
  };
}

/** Lines are only wrapped on a terminal. */
const terminalWidth = ({ isTTY, columns }: NodeJS.WriteStream) => (isTTY ? columns : Number.POSITIVE_INFINITY);

/** Wraps a line between words. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length === 0 || longer.length > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

export const heading = (text: string): string => styleText("bold", text);

function formatElapsed(ms: number): string {
  const tenths = Math.floor(ms / 100);
  const minutes = Math.floor(tenths / 600);
  return `${String(minutes).padStart(2)}:${((tenths % 600) / 10).toFixed(1).padStart(4, "0")}`;
}
