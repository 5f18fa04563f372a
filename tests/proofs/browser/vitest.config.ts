import { defineConfig } from "vitest/config";

/** A separate configuration, since these tests install a browser. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./install.ts", "../../support/database-template.ts"],
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
