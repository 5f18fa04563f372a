import { defineConfig } from "vitest/config";
import { LongestFirst } from "./tests/support/sequencer.ts";

export default defineConfig({
  test: {
    include: ["tests/*.test.ts"],
    globalSetup: ["tests/support/template.ts"],
    pool: "forks",
    // Loading the service and warming up the embedded database costs more than most files' tests: workers are kept.
    isolate: false,
    // One more than the cores that are counted on: much of the time is spent waiting for processes and for hosts that are away.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
