import type { Reporter, TestModule, Vitest } from "vitest/node";
import { nameOf, withoutWorlds, withWorlds } from "./files.ts";
import { leftOutFiles, leftOutTests } from "./left-out.ts";

/** The end of a run: how much of the suite ran on Lambdas, what was left out and why. */
export class Summary implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const ran = modules.map((module) => ({
      file: nameOf(module.moduleId),
      tests: [...module.children.allTests()],
      work: module.meta().work ?? { sandboxes: 0, invocations: 0 },
      broken: module.errors().length > 0,
    }));
    const tests = ran.flatMap((one) => one.tests);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const leftOut = ran.flatMap(({ file, tests: own }) =>
      own.flatMap((test) => {
        const why = leftOutTests[file]?.[test.fullName];
        return why === undefined ? [] : [`  left out: ${file} > ${test.fullName}: ${why}`];
      }),
    );
    const sum = (of: "sandboxes" | "invocations") => ran.reduce((total, { work }) => total + work[of], 0);
    const lines = [
      `On Lambdas: ${ran.length} files, ${tests.length} tests; ${count("passed")} passed, ${count("failed")} failed, ` +
        `${leftOut.length} left out, ${count("skipped") - leftOut.length} skipped by themselves; ${sum("invocations")} invocations of ${sum("sandboxes")} sandboxes`,
      ...leftOut,
    ];
    if (ran.length === withWorlds.filter((file) => leftOutFiles[file] === undefined).length) {
      for (const [file, why] of Object.entries(leftOutFiles)) lines.push(`  left out: ${file}: ${why}`);
      lines.push(`  left out, since they make no world: ${withoutWorlds.join(", ")}`);
    }

    const idle = ran.filter(
      ({ tests: own, work }) => work.invocations === 0 && own.some((test) => test.result().state === "passed"),
    );
    if (idle.length > 0) lines.push(`  asked nothing of a Lambda: ${idle.map(({ file }) => file).join(", ")}`);
    const stale = this.#stale(ran);
    if (stale.length > 0) process.exitCode = 1;
    lines.push(...stale.map((name) => `  to be left out, but not there any more: ${name}`));
    process.stdout.write(`\n${lines.join("\n")}\n`);
  }

  /** Tests that are to be left out and are not there. Of files that ran in whole only. */
  #stale(ran: { file: string; tests: { fullName: string }[]; broken: boolean }[]): string[] {
    if (this.#vitest?.config.testNamePattern) return [];
    return ran.flatMap(({ file, tests, broken }) =>
      Object.keys(broken ? {} : (leftOutTests[file] ?? {}))
        .filter((name) => !tests.some((test) => test.fullName === name))
        .map((name) => `${file} > ${name}`),
    );
  }
}
