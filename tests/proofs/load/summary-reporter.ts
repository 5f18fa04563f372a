import type { Reporter, TestModule } from "vitest/node";

declare module "vitest" {
  interface TaskMeta {
    /** The figures of the test for the summary. */
    summary?: Record<string, string | number>;
  }
}

/** Prints a summary at the end of the run: a line for each scenario and the figures of the chaos run. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      const summaries = [...module.children.allTests()]
        .map((test) => test.meta().summary)
        .filter((summary) => summary !== undefined);
      const names = [...new Set(summaries.flatMap((summary) => Object.keys(summary)))];
      const table = [names, ...summaries.map((summary) => names.map((name) => String(summary[name] ?? "")))];
      const rows = summaries.length > 1 ? table : names.map((_, index) => table.map((row) => row[index]!));
      const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
      const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column]!)).join("  "));
      process.stdout.write(`\n${lines.map((line) => line.trimEnd()).join("\n")}\n`);
    }
  }
}
