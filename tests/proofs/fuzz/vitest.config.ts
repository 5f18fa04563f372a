import { defineConfig } from "vitest/config";

/** A separate configuration, since this test sends a few hundred thousand requests. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../../support/database-template.ts"],
    disableConsoleIntercept: true,
  },
});
