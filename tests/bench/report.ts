import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import path from "node:path";
import type { Row } from "./row.ts";

const FILE = path.resolve(import.meta.dirname, "../../docs/performance.md");
const INTRODUCTION = `# Performance

\`npm run bench -- --save\` measures these figures and writes this file. The service runs in one process; PostgreSQL and the load
from 8 persistent connections share its machine. Each figure has a baseline from the same run, so trust the ratios. No test
asserts a time. Statements are counted per request, including those of its authentication and its jobs, without BEGIN and COMMIT.
The floor is how often the bare driver sends the statements of such a request over 8 connections, without HTTP, without the code
of the service and without its jobs. The last column has the figure of the last run that alternated with the reference
implementation of this API, and the ratio. The end of the page explains missed targets.
`;
const END = "## What the figures say";

/** Replaces the table of a bench and keeps the other tables and the remarks at the end. */
export function saveReport(name: string, rows: readonly Row[], described: string): void {
  const before = existsSync(FILE) ? readFileSync(FILE, "utf8") : "";
  const sections = new Map(
    before
      .split(/^(?=## )/m)
      .filter((part) => part.startsWith("## "))
      .map((part) => [/^## (.*)$/m.exec(part)![0], part.trimEnd()] as const),
  );
  const end = sections.get(END);
  sections.delete(END);
  sections.set(`## ${name}`, `## ${name}\n\n${described}\n\n${toTable(rows)}`);
  writeFileSync(FILE, `${[INTRODUCTION.trimEnd(), ...sections.values(), ...(end ? [end] : [])].join("\n\n")}\n`);
}

/** Describes the machine and the date. */
export function describeRun(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${new Date().toISOString().slice(0, 10)}, ${cpus().length} x ${cpu?.model.trim()}, ${memory} GB, Node ${process.version}.`;
}

const HEADS: readonly (readonly [keyof Row, string])[] = [
  ["what", "What"],
  ["figure", "Figure"],
  ["target", "Target"],
  ["baseline", "Baseline"],
  ["ratio", "Ratio"],
  ["floor", "Floor"],
  ["statements", "Statements"],
  ["reference", "Last paired run"],
];

function toTable(rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const heads = HEADS.map(([, head]) => head);
  return [line(heads), line(heads.map(() => "---")), ...rows.map((row) => line(HEADS.map(([key]) => row[key] ?? "")))].join("\n");
}
