import { defineConfig } from "vitest/config";

/** A separate configuration, since each fault takes seconds and has the machine to itself. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../../support/database-template.ts"],
    reporters: ["default", "../crashes/summary-reporter.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
