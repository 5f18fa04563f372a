import { defineConfig } from "vitest/config";

/** Apart from the other tests: this one takes every statement apart. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../support/template.ts"],
    hookTimeout: 60_000,
  },
});
