import { defineConfig } from "vitest/config";

/** A separate configuration, since these tests need SST's platform, which `npm run infra:check` installs. */
export default defineConfig({
  test: { root: import.meta.dirname, include: ["*.test.ts"], globalSetup: ["setup.ts"], isolate: false, maxWorkers: 1 },
});
