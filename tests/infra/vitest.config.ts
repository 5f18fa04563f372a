import { defineConfig } from "vitest/config";

/** Apart from the other tests: these need SST's platform, which `npm run infra:check` installs first. */
export default defineConfig({
  test: { root: import.meta.dirname, include: ["*.test.ts"], globalSetup: ["setup.ts"], isolate: false, maxWorkers: 1 },
});
