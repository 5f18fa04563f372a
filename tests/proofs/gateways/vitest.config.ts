import { defineConfig } from "vitest/config";

/** A separate configuration, since these tests install and start real hosts. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./install.ts", "../../support/database-template.ts"],
    reporters: ["default", "./step-reporter.ts"],
    hookTimeout: 300_000,
  },
});
