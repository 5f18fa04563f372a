import path from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";

type Options = NonNullable<ViteUserConfig["test"]>;

/** Returns a separate configuration for a long test, which takes minutes and needs the whole machine. */
export const proofConfig = (root: string, options: Options): ViteUserConfig =>
  defineConfig({
    test: {
      root,
      include: ["*.test.ts"],
      globalSetup: [path.resolve(import.meta.dirname, "../../support/database-template.ts")],
      reporters: ["verbose", path.resolve(import.meta.dirname, "summary-reporter.ts")],
      fileParallelism: false,
      hookTimeout: 180_000,
      ...options,
    },
  });
