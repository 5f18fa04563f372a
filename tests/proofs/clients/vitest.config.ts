import { defineConfig } from "vitest/config";

/** A separate configuration, since these tests install MCP clients. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./install.ts", "../../support/database-template.ts"],
    setupFiles: ["../../support/short-hashing.cjs"],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
