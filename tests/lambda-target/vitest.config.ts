import { defineConfig } from "vitest/config";
import { withWorlds } from "./files.ts";
import { leftOutFiles } from "./left-out.ts";
import { Summary } from "./summary.ts";

/** The tests of the whole service, with the Lambda bundles in the place of the app: `npm run test:lambda`. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: withWorlds.filter((name) => leftOutFiles[name] === undefined).map((name) => `tests/${name}.test.ts`),
    env: { TEST_TARGET: "lambda" },
    globalSetup: ["tests/support/template.ts", "tests/lambda-target/prepare.ts"],
    setupFiles: ["tests/lambda-target/each-test.ts"],
    pool: "forks",
    isolate: false,
    // A world has processes of its own.
    maxWorkers: Number(process.env["TEST_WORKERS"] ?? 2),
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default", new Summary()],
  },
});
