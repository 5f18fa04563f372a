import { defineConfig } from "vitest/config";

/** A separate configuration, since these tests kill processes at every crash point, which takes minutes. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    reporters: ["default", "./summary-reporter.ts"],
    // One file after the other, since both need the whole machine.
    fileParallelism: false,
    testTimeout: 3_600_000,
    hookTimeout: 180_000,
  },
});
