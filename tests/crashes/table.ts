import type { Reporter, TestModule } from "vitest/node";

/** Ends the run with what was tried and what came of it: a line for each scenario, and the figures of the storm one by one. */
export default class Table implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      const told = [...module.children.allTests()].map((one) => one.meta().told).filter((one) => one !== undefined);
      const names = [...new Set(told.flatMap((one) => Object.keys(one)))];
      const table = [names, ...told.map((one) => names.map((name) => String(one[name] ?? "")))];
      const rows = told.length > 1 ? table : names.map((_, index) => table.map((row) => row[index]!));
      const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
      const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column]!)).join("  "));
      process.stdout.write(`\n${lines.map((line) => line.trimEnd()).join("\n")}\n`);
    }
  }
}
