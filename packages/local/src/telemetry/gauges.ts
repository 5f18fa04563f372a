import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Meter as OtelMeter } from "@opentelemetry/api";
import type { Context } from "@board/core/context/context";
import { countOpenJobs } from "@board/core/job/job";
import { readJobAge } from "@board/core/job/queue-age";
import { errorText } from "@board/core/values/log";
import { addGauge } from "./instruments.ts";

const NANOSECONDS = 1e9;
/** Interval between measurements of the event loop, in milliseconds. It is subtracted from the measured delays. */
const RESOLUTION_MS = 20;

/**
 * Adds metrics of this process: memory, processor time and the delay of its event loop. Returns a function that stops the
 * measurement.
 */
export function addProcessGauges(otel: OtelMeter): () => void {
  addGauge(otel, "process.memory.usage", { unit: "By", description: "Resident memory." }, (result) =>
    result.observe(process.memoryUsage.rss()),
  );
  otel.createObservableCounter("process.cpu.time", { unit: "s", description: "Processor time." }).addCallback((result) => {
    const { user, system } = process.cpuUsage();
    result.observe((user + system) / 1e6);
  });
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  addGauge(
    otel,
    "nodejs.eventloop.delay.max",
    { unit: "s", description: "Longest delay since the last collection." },
    (result) => {
      result.observe(Math.max(0, delay.max / NANOSECONDS - RESOLUTION_MS / 1_000));
      delay.reset();
    },
  );
  return () => void delay.disable();
}

/** Adds metrics that the database has about all processes: the number of open jobs and the age of the oldest due job. */
export function addJobGauges(otel: OtelMeter, createContext: () => Context): void {
  const orNothing = async (read: () => Promise<void>) => {
    try {
      await read();
    } catch (error) {
      createContext().log.warn("telemetry.gauge_not_read", errorText(error));
    }
  };
  addGauge(otel, "board.jobs", { description: "Queued and running jobs of all processes." }, (result) =>
    orNothing(async () => {
      const counts = await countOpenJobs(createContext());
      for (const status of ["queued", "running"] as const) result.observe(counts[status] ?? 0, { status });
    }),
  );
  addGauge(otel, "board.job.oldest", { unit: "s", description: "How long the oldest due job has waited." }, (result) =>
    orNothing(async () => result.observe(await readJobAge(createContext()))),
  );
}
