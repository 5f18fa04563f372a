import { defineConfig } from "vitest/config";

/** Apart from the other tests: this one sends a few hundred thousand requests. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../support/template.ts"],
    disableConsoleIntercept: true,
  },
});
