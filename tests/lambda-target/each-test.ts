import { afterEach, beforeEach } from "vitest";
import { written } from "../support/lambda-world.ts";
import { work } from "../support/sandboxes.ts";
import { nameOf } from "./files.ts";
import { leftOutTests } from "./left-out.ts";

/** Of what a failed test's functions wrote. */
const LAST_LINES = 40;

/** Worlds of files before this one, in the same process, are closed. */
const before = { ...work };

beforeEach(({ task, skip, onTestFailed }) => {
  const why = leftOutTests[nameOf(task.file.name)]?.[task.fullTestName];
  if (why !== undefined) skip(why);
  written.length = 0;
  onTestFailed(() => {
    const lines = written.filter((line) => !/"level":"debug"|"event":"http.request"|^{"_aws"/.test(line)).slice(-LAST_LINES);
    if (lines.length > 0) process.stderr.write(`The functions wrote:\n${lines.join("\n")}\n`);
  });
});

afterEach(({ task }) => {
  task.file.meta.work = {
    sandboxes: work.sandboxes - before.sandboxes,
    invocations: work.invocations - before.invocations,
  };
});

declare module "vitest" {
  export interface TaskMeta {
    work?: { sandboxes: number; invocations: number };
  }
}
