import { defineConfig } from "vitest/config";

/** A separate configuration, since ten thousand requests with restarts in between take minutes. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../../support/database-template.ts"],
    reporters: ["default", "../crashes/summary-reporter.ts"],
    testTimeout: 3_600_000,
    hookTimeout: 180_000,
  },
});
