import { readFileSync } from "node:fs";
import path from "node:path";

/** Splits a cell of a table, which lists several values with commas. */
export const listOf = (cell: string): string[] => cell.split(", ");

/** Returns one line for each pair of states and each event, such as `queued -> running: lease`. */
export function transitions(from: string[], to: string[], events: string[]): string[] {
  return from.flatMap((source) => to.flatMap((target) => events.map((event) => `${source} -> ${target}: ${event}`)));
}

/** Reads a document of docs/ with state diagrams and tables of transitions. */
export function openStateDocument(name: string) {
  const text = readFileSync(path.resolve(import.meta.dirname, "../../docs", name), "utf8");
  const after = (heading: string) => text.slice(text.indexOf(`${heading}\n`) + heading.length);
  return {
    text,
    /** Returns the rows of the first table below a heading, without its header. The cells have no backticks. */
    tableBelow(heading: string): string[][] {
      const [, , ...rows] = after(heading)
        .match(/(?:^\|.*\n)+/m)![0]
        .trim()
        .split("\n");
      const cells = (row: string) => row.split("|").slice(1, -1);
      return rows.map((row) => cells(row).map((cell) => cell.replaceAll("`", "").trim()));
    },
    /** Returns the transitions of the first diagram below a heading. */
    diagramBelow(heading: string): string[] {
      const [, diagram] = after(heading).match(/```mermaid\n([^]*?)```/)!;
      return [...diagram!.matchAll(/^\s+(\S+) --> (\S+): (.+)$/gm)].flatMap(([, from, to, label]) =>
        transitions([from!.replace("[*]", "(none)")], [to!.replace("[*]", "(removed)")], listOf(label!)),
      );
    },
  };
}
