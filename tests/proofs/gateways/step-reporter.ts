import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Prints a table at the end of the run: the result and the time of each step for each host. */
export default class StepReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const hosts = [...new Set(cases.map(hostOf))];
    const steps = [...new Set(cases.map(({ name }) => name))];
    const cell = (step: string, host: string) => formatResult(cases.find((test) => test.name === step && hostOf(test) === host));
    const rows = [["", ...hosts], ...steps.map((step) => [step, ...hosts.map((host) => cell(step, host))])];
    const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
    const lines = rows.map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    );
    const notes = cases.flatMap((test) => {
      const errors = (test.result().errors ?? []).map(({ message }) => `failed: ${message.split("\n", 1)[0]}`);
      return [...(test.meta().warnings ?? []), ...errors].map((text) => `${hostOf(test)}, ${test.name}: ${text}`);
    });
    process.stdout.write(`\n${[...lines, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n")}\n\n`);
  }
}

const hostOf = ({ parent }: TestCase): string => (parent.type === "suite" ? parent.name : "");

function formatResult(one: TestCase | undefined): string {
  if (!one) return "-";
  const { state } = one.result();
  const ms = Math.round(one.diagnostic()?.duration ?? 0);
  return state === "passed" ? `ok ${ms} ms` : state === "failed" ? `failed ${ms} ms` : state;
}
