import type { Log } from "../values/log.ts";

/** The metrics of the service and their units. */
export const METRICS = {
  /** Rejected credentials. */
  AuthFailures: "Count",
  /** Budgets whose limit was reached, by `scope`. */
  BudgetExhausted: "Count",
  /** Circuits of gateways that opened or closed, by `state`. */
  CircuitChanges: "Count",
  /** Attempts to run a job, by `kind` and `outcome`. */
  DeliveryAttempts: "Count",
  /** Time from accepting a webhook payload until its agent was notified. */
  IngestLag: "Milliseconds",
  /** How long the oldest due job has waited. */
  JobAge: "Seconds",
  /** Runs whose lease expired. */
  RunsExpired: "Count",
  /** Runs that began. */
  RunsStarted: "Count",
  /** Age of the oldest open transaction of the database. Streams wait for this transaction. */
  StreamHorizonAge: "Seconds",
  /** Duration of a template sync. */
  SyncDuration: "Milliseconds",
} as const;
export type MetricName = keyof typeof METRICS;

/** Use a dimension only if it has few values: CloudWatch bills every combination of values as a separate metric. */
export type Dimensions = Readonly<Record<string, string>>;

/** Receives measurements. `record` never throws. */
export interface Meter {
  record(name: MetricName, value: number, dimensions?: Dimensions): void;
}

/** Creates a meter for processes whose metrics are not collected: it logs each measurement at level `debug`. */
export const createLogMeter = (log: Log): Meter => ({
  record: (name, value, dimensions) => log.debug("metric", name, { value, unit: METRICS[name], ...dimensions }),
});
