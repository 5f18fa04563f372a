import { styleText } from "node:util";
import { say } from "../terminal.ts";

type Style = Parameters<typeof styleText>[0];

/** Somebody who acts in the demo, as the second column shows them. */
export interface Who {
  name: string;
  style: Style;
}

export interface Screen {
  /** A line of the running log: when, who, what. `strong` marks a turn of the story. */
  tell(who: Who, what: string, strong?: boolean): void;
  /** Plain text outside of the log. */
  print(text?: string): void;
}

const NAME_WIDTH = 9;

/** Standard output as a log of three columns. Colour only where a terminal shows it and NO_COLOR does not forbid it. */
export function createScreen(): Screen {
  const started = performance.now();
  return {
    tell({ name, style }, what, strong = false) {
      const head = `  ${clock(performance.now() - started)}  `;
      const name_column = `${name.padEnd(NAME_WIDTH)} `;
      const margin = head.length + name_column.length;
      const [first = "", ...rest] = wrap(what, widthOf(process.stdout) - margin);
      const show = (text: string) => (strong ? styleText("bold", text) : text);
      say(`${styleText("dim", head)}${styleText(style, name_column)}${show(first)}`);
      for (const line of rest) say(`${" ".repeat(margin)}${show(line)}`);
    },
    print: (text = "") => void say(text),
  };
}

/** A log that is piped has one line for each event. */
const widthOf = ({ isTTY, columns }: NodeJS.WriteStream) => (isTTY ? columns : Number.POSITIVE_INFINITY);

/** A line as lines of so many characters, broken between words. */
function wrap(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length === 0 || longer.length > room) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

export const heading = (text: string): string => styleText("bold", text);

function clock(ms: number): string {
  const tenths = Math.floor(ms / 100);
  const minutes = Math.floor(tenths / 600);
  return `${String(minutes).padStart(2)}:${((tenths % 600) / 10).toFixed(1).padStart(4, "0")}`;
}
