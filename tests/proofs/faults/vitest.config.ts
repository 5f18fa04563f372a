import { defineConfig } from "vitest/config";

/** A separate configuration, since each fault takes seconds and has the machine to itself. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../../support/database-template.ts"],
    // Each line appears when its test ends, since a run takes minutes.
    reporters: ["verbose", "../crashes/summary-reporter.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
