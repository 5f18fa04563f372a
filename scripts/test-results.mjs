// Prints "N passed, N failed" from the reports that `.ci/run` leaves in .cache. Its argument is the number of failed steps.
import { readFileSync } from "node:fs";

/** Counts the failures of a file. A file that fails before its tests begin reports no failed test and counts as one. */
const failures = ({ testResults }) =>
  testResults
    .filter(({ status }) => status === "failed")
    .reduce(
      (sum, { assertionResults }) => sum + Math.max(1, assertionResults.filter(({ status }) => status === "failed").length),
      0,
    );

const failed_steps = Number(process.argv[2]);
let [passed, failed, unread] = [0, 0, 0];
for (const name of ["infra", "tests", "lambda"]) {
  try {
    const report = JSON.parse(readFileSync(`.cache/results-${name}.json`, "utf8"));
    passed += report.numPassedTests;
    failed += failures(report);
  } catch {
    unread++;
  }
}
// Failed steps without test results count as one failure each, so that the last line never hides them.
const total = Math.max(failed, failed_steps) + (failed_steps === 0 ? unread : 0);
console.log(`${passed} passed, ${total} failed`);
process.exitCode = total > 0 || passed === 0 ? 1 : 0;
