import { afterEach, beforeEach } from "vitest";
import { functionOutput } from "../../support/lambda-world.ts";
import { lambdaUsage } from "../../support/lambda-pool.ts";
import { testName } from "./test-files.ts";
import { excludedTests } from "./exclusions.ts";

/** How many lines of the functions' output a failed test prints. */
const LAST_LINES = 40;

/** The usage by earlier files in the same process, whose worlds are closed. */
const before = { ...lambdaUsage };

beforeEach(({ task, skip, onTestFailed }) => {
  const why = excludedTests[testName(task.file.name)]?.[task.fullTestName];
  if (why !== undefined) skip(why);
  functionOutput.length = 0;
  onTestFailed(() => {
    const lines = functionOutput
      .filter((line) => !/"level":"debug"|"event":"http.request"|^{"_aws"/.test(line))
      .slice(-LAST_LINES);
    if (lines.length > 0) process.stderr.write(`The functions wrote:\n${lines.join("\n")}\n`);
  });
});

afterEach(({ task }) => {
  task.file.meta.work = {
    sandboxes: lambdaUsage.sandboxes - before.sandboxes,
    invocations: lambdaUsage.invocations - before.invocations,
  };
});

declare module "vitest" {
  export interface TaskMeta {
    work?: { sandboxes: number; invocations: number };
  }
}
