import { defineConfig } from "vitest/config";
import { LongestFirst } from "./tests/support/sequencer.ts";

export default defineConfig({
  test: {
    include: ["tests/*/*.test.ts"],
    globalSetup: ["tests/support/database-template.ts"],
    pool: "forks",
    // Workers are kept, since loading the service and warming up the embedded database take longer than most files.
    isolate: false,
    // One more than two cores, since tests often wait for processes and for unreachable hosts.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
