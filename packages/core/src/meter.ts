import type { Log } from "./log.ts";

/** What the service measures of itself, with the unit of each. */
export const METRICS = {
  /** Credentials that were refused. */
  AuthFailures: "Count",
  /** Attempts at jobs, by `kind` and `outcome`. */
  DeliveryAttempts: "Count",
  /** From the acceptance of a webhook's payload until its agent was told. */
  IngestLag: "Milliseconds",
  /** How long the oldest job that could be done already has been waiting. */
  JobAge: "Seconds",
  /** From the start of a template sync to its end. */
  SyncDuration: "Milliseconds",
} as const;
export type MetricName = keyof typeof METRICS;

/** Dimensions take few values each: every combination is a metric of its own, and paid for. */
export type Dimensions = Readonly<Record<string, string>>;

/** Where measurements go. Never fails the work that is measured. */
export interface Meter {
  record(name: MetricName, value: number, dimensions?: Dimensions): void;
}

/** For a process whose metrics nobody collects: each measurement is a line for whoever asks for level `debug`. */
export const meterToLog = (log: Log): Meter => ({
  record: (name, value, dimensions) => log.debug("metric", name, { value, unit: METRICS[name], ...dimensions }),
});
