import { defineConfig } from "vitest/config";

/** A separate configuration, since this test changes every statement and takes long. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    hookTimeout: 60_000,
  },
});
