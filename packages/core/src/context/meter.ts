import type { Log } from "../values/log.ts";

/** The metrics of the service and their units. */
export const METRICS = {
  /** Rejected credentials. */
  AuthFailures: "Count",
  /** Circuits of gateways that were opened or closed, by `state`. */
  CircuitChanges: "Count",
  /** Attempts to run a job, by `kind` and `outcome`. */
  DeliveryAttempts: "Count",
  /** Time from accepting a webhook payload until its agent was notified. */
  IngestLag: "Milliseconds",
  /** Waiting time of the oldest job that is due. */
  JobAge: "Seconds",
  /** Age of the oldest open transaction of the database, behind which all streams wait. */
  StreamHorizonAge: "Seconds",
  /** Duration of a template sync. */
  SyncDuration: "Milliseconds",
} as const;
export type MetricName = keyof typeof METRICS;

/** A dimension must have few values: CloudWatch bills every combination of values as a separate metric. */
export type Dimensions = Readonly<Record<string, string>>;

/** Receives measurements. It never makes the measured work fail. */
export interface Meter {
  record(name: MetricName, value: number, dimensions?: Dimensions): void;
}

/** A meter for processes whose metrics are not collected: it logs each measurement at level `debug`. */
export const createLogMeter = (log: Log): Meter => ({
  record: (name, value, dimensions) => log.debug("metric", name, { value, unit: METRICS[name], ...dimensions }),
});
