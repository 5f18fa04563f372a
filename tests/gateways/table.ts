import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Ends the run with a table: what each host did at each step, and in what time. */
export default class Table implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const hosts = [...new Set(cases.map(hostOf))];
    const steps = [...new Set(cases.map(({ name }) => name))];
    const cell = (step: string, host: string) => told(cases.find((one) => one.name === step && hostOf(one) === host));
    const rows = [["", ...hosts], ...steps.map((step) => [step, ...hosts.map((host) => cell(step, host))])];
    const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
    const lines = rows.map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    );
    const happened = cases.flatMap((one) => {
      const errors = (one.result().errors ?? []).map(({ message }) => `failed: ${message.split("\n", 1)[0]}`);
      return [...(one.meta().happened ?? []), ...errors].map((text) => `${hostOf(one)}, ${one.name}: ${text}`);
    });
    process.stdout.write(`\n${[...lines, ...(happened.length > 0 ? ["", ...happened] : [])].join("\n")}\n\n`);
  }
}

const hostOf = ({ parent }: TestCase): string => (parent.type === "suite" ? parent.name : "");

function told(one: TestCase | undefined): string {
  if (!one) return "-";
  const { state } = one.result();
  const ms = Math.round(one.diagnostic()?.duration ?? 0);
  return state === "passed" ? `ok ${ms} ms` : state === "failed" ? `failed ${ms} ms` : state;
}
