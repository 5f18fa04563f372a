import { defineConfig } from "vitest/config";

/** A separate configuration, since these tests install client generators. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./install.ts"],
    testTimeout: 300_000,
  },
});
