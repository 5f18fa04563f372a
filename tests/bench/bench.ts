import { benchBudgets } from "./budgets.ts";
import { benchDeliveries } from "./deliveries.ts";
import { benchGrowth } from "./growth.ts";
import { benchInbox } from "./inbox.ts";
import { benchIngestion, benchNotification } from "./ingestion.ts";
import { benchMetrics } from "./metrics.ts";
import { openBenchEnvironment, type BenchEnvironment } from "./environment.ts";
import { LAST_PAIRED_RUN } from "./last-paired-run.ts";
import { benchNext } from "./next.ts";
import { benchPages } from "./pages.ts";
import { benchProcesses } from "./processes.ts";
import { benchReaching } from "./reaching.ts";
import { benchReads } from "./reads.ts";
import { describeRun, saveReport } from "./report.ts";
import type { Row } from "./row.ts";
import { benchSteps } from "./steps.ts";
import { benchRunner } from "./runner.ts";
import { benchStart } from "./start.ts";
import { benchStreams } from "./streams.ts";
import { benchSync } from "./sync.ts";
import { benchTasks } from "./tasks.ts";
import { benchUsage } from "./usage.ts";

/**
 * `npm run bench [-- name ...] [--save]` measures on this machine, with a baseline from the same run. No figure makes the run
 * fail. `--save` writes the figures to docs/performance.md.
 */
const benches: Record<string, (place: BenchEnvironment) => Promise<Row[]>> = {
  reads: benchReads,
  pages: benchPages,
  tasks: benchTasks,
  inbox: benchInbox,
  next: benchNext,
  budgets: benchBudgets,
  ingestion: benchIngestion,
  notification: benchNotification,
  reaching: benchReaching,
  deliveries: benchDeliveries,
  sync: benchSync,
  metrics: benchMetrics,
  streams: benchStreams,
  steps: benchSteps,
  usage: benchUsage,
  runner: benchRunner,
  start: benchStart,
  processes: benchProcesses,
  growth: benchGrowth,
};
/** These run only when they are named: they take long or start several processes, and what they add stays in the database. */
const ON_REQUEST = new Set(["growth", "processes"]);

const given = process.argv.slice(2);
const save = given.includes("--save");
const names = given.filter((name) => name !== "--save");
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`Unknown bench: ${unknown.join(", ")}. Available: ${Object.keys(benches).join(", ")}.`);
  process.exit(2);
}

const described = describeRun();
console.log(described);
const place = await openBenchEnvironment();
try {
  for (const [name, run] of Object.entries(benches)) {
    if (names.length > 0 ? !names.includes(name) : ON_REQUEST.has(name)) continue;
    const measured = await run(place);
    const rows = measured.map((row) => ({ ...row, reference: LAST_PAIRED_RUN[row.what] }));
    console.log(`\n${name}`);
    console.table(rows);
    if (save) saveReport(name, rows, described);
  }
} finally {
  await place.close();
}
