import { defineConfig } from "vitest/config";

/** Apart from the other tests: these kill processes at every moment there is, which takes minutes. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    reporters: ["default", "./table.ts"],
    // One after the other: both need the whole machine.
    fileParallelism: false,
    testTimeout: 3_600_000,
    hookTimeout: 180_000,
  },
});
