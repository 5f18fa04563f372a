import { defineConfig } from "vitest/config";
import { LongestFirst } from "./tests/support/sequencer.ts";

/** Files that take minutes together, because they fill disks, answers or connections, or wait for hosts: `npm run test:slow`. */
export const SLOW_FILES = [
  "tests/artifact/cut-uploads.test.ts",
  "tests/accounts/migrate.test.ts",
  "tests/api/answer-size.test.ts",
  "tests/local/{full-disk,jobs-command,server-crashes,unfinished-bodies}.test.ts",
  "tests/provisioning/{heartbeat-config,lost-files,refusing-host}.test.ts",
  "tests/runner/faults.test.ts",
  "tests/gateway/session-operations.test.ts",
  "tests/sync/lost-entries.test.ts",
  "tests/job/killed-process.test.ts",
  "tests/subscription/silent-{receivers,tenants}.test.ts",
];

export default defineConfig({
  test: {
    include: ["tests/*/*.test.ts"],
    exclude: SLOW_FILES,
    globalSetup: ["tests/support/database-template.ts"],
    setupFiles: ["tests/support/short-hashing.cjs"],
    pool: "forks",
    // Workers are kept, because loading the service and warming up the embedded database take longer than most files.
    isolate: false,
    // More than the two cores, because tests often wait for processes and for unreachable hosts.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // One limit for all tests, which the slowest of them keeps on a machine that is several times slower than usual.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
