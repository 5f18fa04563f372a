import { globSync } from "node:fs";
import { defineConfig } from "vitest/config";
import durations from "./tests/durations.json" with { type: "json" };

/** Files that need more than one process: a started service, a Lambda, a crash or another program. */
const OTHER_PROCESSES = [
  "tests/accounts/{start,migrate}.test.ts",
  "tests/*/*races.test.ts",
  "tests/activity/{counts,feed-order}.test.ts",
  "tests/api/logging.test.ts",
  "tests/artifact/cut-uploads.test.ts",
  "tests/aws/{functions,board-events,dead-letters,syncs,meter,emulators}.test.ts",
  "tests/board-event/eventbridge.test.ts",
  "tests/cli/*.test.ts",
  "tests/client/{usage,package}.test.ts",
  "tests/db/{server,concurrent-index,embedded-log}.test.ts",
  "tests/host/config-lock.test.ts",
  "tests/api/answer-size.test.ts",
  "tests/job/{retention,stopped-process}.test.ts",
  "tests/local/{server,server-crashes,start,draining,change-channel,full-disk,unfinished-bodies,demo,doctor,doctor-command,doctor-parts,telemetry,jobs-command,audit-verify,migrate-command,runbooks}.test.ts",
  "tests/dns/resolver.test.ts",
  "tests/examples/*.test.ts",
  "tests/gateway/slow-names.test.ts",
  "tests/proofs/{tenancy,cluster,crashes,deliveries,faults,fuzz,isolation,repeats,steps,verbs}.test.ts",
  "tests/runner/*.test.ts",
  "tests/stream/{horizon,order,local-server}.test.ts",
  "tests/sync/crashes.test.ts",
  "tests/template/{commands,jq}.test.ts",
];

/** Total duration of the selected tests in seconds, by the last measurement of the whole suite (`scripts/test-durations.mjs`). */
const BUDGET_SECONDS = 60;
/** Seconds that a file takes besides its tests, to load modules and open a database. */
const FILE_SECONDS = 1.2;

/** The shortest files that fit into the budget. A new file has no duration yet and is always included. */
function selectFiles(): string[] {
  const known: Record<string, number> = durations;
  const excluded = new Set(OTHER_PROCESSES.flatMap((pattern) => globSync(pattern)));
  const candidates = globSync("tests/*/*.test.ts")
    .filter((file) => !excluded.has(file))
    .map((file) => ({ file: file.replaceAll("\\", "/"), seconds: known[file.replaceAll("\\", "/")] ?? 0 }))
    .toSorted((one, other) => one.seconds - other.seconds);
  let left = BUDGET_SECONDS;
  return candidates.filter(({ seconds }) => (left -= seconds + FILE_SECONDS) >= 0).map(({ file }) => file);
}

/** The daily loop, `npm run test:fast`. */
export default defineConfig({
  test: {
    include: selectFiles(),
    globalSetup: ["tests/support/database-template.ts"],
    setupFiles: ["tests/support/short-hashing.cjs"],
    pool: "forks",
    isolate: false,
    maxWorkers: 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
