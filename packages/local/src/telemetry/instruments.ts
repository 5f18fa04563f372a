import type { Attributes, Meter as OtelMeter, ObservableResult } from "@opentelemetry/api";
import { type Dimensions, type Meter, type MetricName, METRICS } from "@board/core/context/meter";

/** Upper bounds in seconds, as OpenTelemetry's conventions for HTTP recommend. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Upper bounds in seconds for long durations: a host may take 15 s for a message, and a sync may take minutes. */
const LONG_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

const MS = 1_000;

/** Converts a metric's name: `JobAge` becomes `board.job.age`. */
const toName = (name: MetricName): string => `board.${name.replace(/(?<=[a-z])(?=[A-Z])/g, ".").toLowerCase()}`;

/** Records the metrics of the service with OpenTelemetry. Milliseconds become histograms of seconds. */
export function createMeter(otel: OtelMeter): Meter {
  const record = new Map<string, (value: number, dimensions?: Dimensions) => void>();
  for (const [name, unit] of Object.entries(METRICS) as [MetricName, string][]) {
    if (unit === "Count") {
      const counter = otel.createCounter(toName(name));
      record.set(name, (value, dimensions) => counter.add(value, dimensions));
    } else if (unit === "Milliseconds") {
      const advice = { explicitBucketBoundaries: LONG_SECONDS };
      const histogram = otel.createHistogram(toName(name), { unit: "s", advice });
      record.set(name, (value, dimensions) => histogram.record(value / MS, dimensions));
    } else {
      const gauge = otel.createGauge(toName(name), { unit: "s" });
      record.set(name, (value, dimensions) => gauge.record(value, dimensions));
    }
  }
  return { record: (name, value, dimensions) => record.get(name)?.(value, dimensions) };
}

/** Durations of requests, jobs and calls to hosts. */
export interface Durations {
  record(kind: "server" | "consumer" | "client", seconds: number, attributes: Attributes): void;
}

/** The attributes of a span that are also labels of its duration. Only attributes with few values are listed. */
const LABELS = {
  server: ["http.request.method", "http.route", "http.response.status_code"],
  consumer: ["board.job.kind", "board.job.outcome"],
  client: ["rpc.method", "http.request.method", "http.response.status_code", "error.type"],
} as const;

export function createDurations(otel: OtelMeter): Durations {
  const histogram = (name: string, description: string, bounds: number[]) =>
    otel.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: bounds } });
  const histograms = {
    server: histogram("http.server.request.duration", "Duration of requests, by route.", SECONDS),
    consumer: histogram("board.job.duration", "Duration of attempts to run a job.", LONG_SECONDS),
    client: histogram("board.host.call.duration", "Duration of calls to hosts of gateways and to receivers.", LONG_SECONDS),
  };
  return {
    record(kind, seconds, attributes) {
      const labels = LABELS[kind].flatMap((name) => (attributes[name] === undefined ? [] : [[name, attributes[name]] as const]));
      histograms[kind].record(seconds, Object.fromEntries(labels));
    },
  };
}

/** Adds a gauge whose value is read when metrics are collected. If reading the value fails, the gauge is left out. */
export function addGauge(
  otel: OtelMeter,
  name: string,
  { unit = "", description }: { unit?: string; description: string },
  read: (result: ObservableResult) => void | Promise<void>,
): void {
  otel.createObservableGauge(name, { unit, description }).addCallback((result) => read(result));
}
