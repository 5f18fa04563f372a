import { defineConfig } from "vitest/config";
import { worldTests } from "./test-files.ts";
import { excludedFiles } from "./exclusions.ts";
import { SummaryReporter } from "./summary-reporter.ts";

/** Runs the service's tests against the Lambda bundles instead of the app: `npm run test:lambda`. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../../..`,
    include: worldTests.filter((name) => excludedFiles[name] === undefined).map((name) => `tests/${name}.test.ts`),
    env: { TEST_TARGET: "lambda" },
    globalSetup: ["tests/support/database-template.ts", "tests/aws/lambda-target/prepare.ts"],
    setupFiles: ["tests/support/short-hashing.cjs", "tests/aws/lambda-target/each-test.ts"],
    pool: "forks",
    isolate: false,
    // Each world starts processes.
    maxWorkers: Number(process.env["TEST_WORKERS"] ?? 2),
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: ["default", new SummaryReporter()],
  },
});
