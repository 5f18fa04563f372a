import { defineConfig } from "vitest/config";

/** A separate configuration, `npm run test:install`, since these tests install all packages from the registry. */
export default defineConfig({
  test: { root: import.meta.dirname, include: ["*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000, fileParallelism: false },
});
