import type { RunnerEvent } from "@board/runner/options";
import type { Run } from "../cli.ts";
import { toSafeLine } from "../text.ts";

export interface LiveView {
  print(event: RunnerEvent): void;
  show(lines: readonly string[]): void;
  note(text: string): void;
  close(): void;
}

const CLEAR_LINE = "\u001b[2K";
const UP = "\u001b[1A";
const MAX_TEXT = 400;

/** Prints a line per event. On a terminal, the state of the running tasks stays below the printed lines. */
export function createLiveView({ output, stdout }: Run, name: string): LiveView {
  const isLive = stdout.isTTY === true && !output.json;
  let shown: string[] = [];
  const erase = () => {
    if (shown.length > 0) stdout.write(`${`${UP}${CLEAR_LINE}`.repeat(shown.length)}\r`);
  };
  const draw = (lines: readonly string[]) => {
    // Lines are cut to the width of the terminal, because a longer line would take two rows and only one would be erased.
    const width = Math.max(20, (stdout.columns ?? 80) - 1);
    shown = lines.map((line) => toSafeLine(line, width));
    for (const line of shown) stdout.write(`${line}\n`);
  };
  const write = (text: string) => {
    const lines = shown;
    if (isLive) erase();
    output.line(`${new Date().toTimeString().slice(0, 8)} ${toSafeLine(text, MAX_TEXT)}`);
    if (isLive) draw(lines);
  };
  return {
    print(event) {
      if (output.json) return output.event({ at: new Date().toISOString(), agent: name, ...event }, () => {});
      write(event.task_id ? `[${event.task_id.slice(0, 8)}] ${event.text}` : event.text);
    },
    show(lines) {
      if (!isLive) return;
      erase();
      draw(lines);
    },
    note(text) {
      if (output.json) return output.event({ at: new Date().toISOString(), agent: name, event: "note", text }, () => {});
      write(text);
    },
    close() {
      if (isLive) erase();
      shown = [];
    },
  };
}
