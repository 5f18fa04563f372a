import { defineConfig } from "vitest/config";

/** A separate configuration, since a thousand kills take an hour. KILLS sets another number. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../../support/database-template.ts"],
    reporters: ["default", "../crashes/summary-reporter.ts"],
    testTimeout: 7_200_000,
    hookTimeout: 180_000,
  },
});
