import { defineConfig } from "vitest/config";

/** A separate configuration, since this test makes thousands of changes: `npm run test:deliveries`. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    reporters: ["default", "../crashes/summary-reporter.ts"],
    testTimeout: 10_800_000,
    hookTimeout: 180_000,
  },
});
