import type { Reporter, TestModule, Vitest } from "vitest/node";
import { testName, otherTests, worldTests } from "./test-files.ts";
import { excludedFiles, excludedTests } from "./exclusions.ts";

/** Prints at the end of a run how much of the suite ran on Lambdas, and what was excluded and why. */
export class SummaryReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const ran = modules.map((module) => ({
      file: testName(module.moduleId),
      tests: [...module.children.allTests()],
      work: module.meta().work ?? { sandboxes: 0, invocations: 0 },
      broken: module.errors().length > 0,
    }));
    const tests = ran.flatMap((file) => file.tests);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const excluded = ran.flatMap(({ file, tests: fileTests }) =>
      fileTests.flatMap((test) => {
        const why = excludedTests[file]?.[test.fullName];
        return why === undefined ? [] : [`  excluded: ${file} > ${test.fullName}: ${why}`];
      }),
    );
    const sum = (of: "sandboxes" | "invocations") => ran.reduce((total, { work }) => total + work[of], 0);
    const lines = [
      `On Lambdas: ${ran.length} files, ${tests.length} tests; ${count("passed")} passed, ${count("failed")} failed, ` +
        `${excluded.length} excluded, ${count("skipped") - excluded.length} skipped by themselves; ${sum("invocations")} invocations of ${sum("sandboxes")} sandboxes`,
      ...excluded,
    ];
    if (ran.length === worldTests.filter((file) => excludedFiles[file] === undefined).length) {
      for (const [file, why] of Object.entries(excludedFiles)) lines.push(`  excluded: ${file}: ${why}`);
      lines.push(`  excluded, since they create no world: ${otherTests.join(", ")}`);
    }

    const idle = ran.filter(
      ({ tests: fileTests, work }) => work.invocations === 0 && fileTests.some((test) => test.result().state === "passed"),
    );
    if (idle.length > 0) lines.push(`  invoked no Lambda: ${idle.map(({ file }) => file).join(", ")}`);
    const stale = this.#stale(ran);
    if (stale.length > 0) process.exitCode = 1;
    lines.push(...stale.map((name) => `  listed as excluded, but missing: ${name}`));
    process.stdout.write(`\n${lines.join("\n")}\n`);
  }

  /** Returns excluded tests that do not exist, among the files that ran completely. */
  #stale(ran: { file: string; tests: { fullName: string }[]; broken: boolean }[]): string[] {
    if (this.#vitest?.config.testNamePattern) return [];
    return ran.flatMap(({ file, tests, broken }) =>
      Object.keys(broken ? {} : (excludedTests[file] ?? {}))
        .filter((name) => !tests.some((test) => test.fullName === name))
        .map((name) => `${file} > ${name}`),
    );
  }
}
