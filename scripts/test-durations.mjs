// Writes tests/durations.json from a report of the whole suite, so that test runs can be ordered and limited by time:
//   npm test -- --reporter=json --outputFile=.cache/results.json && node scripts/test-durations.mjs .cache/results.json
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const [report] = process.argv.slice(2);
if (report === undefined) {
  console.error("Name the JSON report of a run: node scripts/test-durations.mjs <report>");
  process.exit(2);
}
const { testResults } = JSON.parse(readFileSync(report, "utf8"));
const seconds = testResults.map(({ name, startTime, endTime }) => {
  const file = name.replaceAll(path.sep, "/").replace(/^.*?\/(?=tests\/)/, "");
  return [file, Math.round((endTime - startTime) / 100) / 10];
});
seconds.sort(([one], [other]) => (one < other ? -1 : 1));
const lines = seconds.map(([file, duration]) => `  ${JSON.stringify(file)}: ${duration}`);
writeFileSync("tests/durations.json", `{\n${lines.join(",\n")}\n}\n`);
