import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/*.test.ts"],
    globalSetup: ["tests/support/template.ts"],
    pool: "forks",
    // Loading the service and warming up the embedded database costs more than most files' tests: workers are kept.
    isolate: false,
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
