import { defineConfig } from "vitest/config";

/** Apart from the other tests: these install and start real hosts. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./install.ts", "../support/template.ts"],
    reporters: ["default", "./table.ts"],
    hookTimeout: 180_000,
  },
});
