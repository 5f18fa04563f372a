import { defineConfig } from "vitest/config";

/** Apart from the other tests: these install a browser. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./install.ts", "../support/template.ts"],
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
