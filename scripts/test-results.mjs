// Reads the reports that `.ci/run` leaves in .cache.
//   failed-files <report>    the files with failures, or exit code 1 when they are too many for a matter of chance
//   summary <failed steps>   the line "N passed, N failed", and before it the tests that passed at the second run only
import { readFileSync } from "node:fs";
import path from "node:path";

/** More failed files than this are not run again. */
const MAX_FILES = 3;

const read = (name) => JSON.parse(readFileSync(name, "utf8"));
const failedFiles = (report) => report.testResults.filter(({ status }) => status === "failed");
const failedTests = (report) =>
  report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ fullName }) => `${path.relative(process.cwd(), name)}: ${fullName.trim()}`),
  );
/** A file that fails before its tests begin has no failed test, and counts as one. */
const failures = (report) =>
  failedFiles(report).reduce(
    (sum, { assertionResults }) => sum + Math.max(1, assertionResults.filter(({ status }) => status === "failed").length),
    0,
  );

function summarize(failed_steps) {
  let [passed, failed, unread] = [0, 0, 0];
  for (const name of ["infra", "tests", "lambda"]) {
    try {
      const report = read(`.cache/results-${name}.json`);
      passed += report.numPassedTests;
      failed += failures(report);
    } catch {
      unread++;
    }
  }
  try {
    const again = read(".cache/results-again.json");
    const first = read(".cache/results-tests.json");
    const repeated = failedTests(first).filter((test) => !failedTests(again).includes(test));
    passed += repeated.length;
    failed += failures(again) - failures(first);
    for (const test of repeated) console.log(`passed only when run again, which is a bug: ${test}`);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  // Failed steps without test results count as one each, so that the last line never hides them.
  const total = Math.max(failed, failed_steps) + (failed_steps === 0 ? unread : 0);
  console.log(`${passed} passed, ${total} failed`);
  return total > 0 || passed === 0 ? 1 : 0;
}

const [command, argument] = process.argv.slice(2);
if (command === "summary") process.exitCode = summarize(Number(argument));
else if (command === "failed-files") {
  const files = failedFiles(read(argument)).map(({ name }) => path.relative(process.cwd(), name));
  if (files.length > 0 && files.length <= MAX_FILES) console.log(files.join(" "));
  else process.exitCode = 1;
} else {
  console.error("Name a command: failed-files <report>, or summary <failed steps>");
  process.exitCode = 2;
}
