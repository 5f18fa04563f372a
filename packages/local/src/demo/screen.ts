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
      const name_column = name.padEnd(NAME_WIDTH);
      // A wrapped line would break the columns.
      const room =
        (process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY) - head.length - name_column.length - 1;
      const text = what.length > room ? `${what.slice(0, room - 1)}…` : what;
      say(`${styleText("dim", head)}${styleText(style, name_column)} ${strong ? styleText("bold", text) : text}`);
    },
    print: (text = "") => void say(text),
  };
}

export const heading = (text: string): string => styleText("bold", text);

function clock(ms: number): string {
  const tenths = Math.floor(ms / 100);
  const minutes = Math.floor(tenths / 600);
  return `${String(minutes).padStart(2)}:${((tenths % 600) / 10).toFixed(1).padStart(4, "0")}`;
}
