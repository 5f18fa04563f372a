import { errorText, type Log } from "@board/core/values/log";
import { type Dimensions, type Meter, METRICS, type MetricName } from "@board/core/context/meter";

const NAMESPACE = "BoardCoordination";
const SERVICE = "board-coordination";

interface Measurement {
  name: MetricName;
  value: number;
  dimensions: Dimensions;
}

interface EmfMeter extends Meter {
  /** Writes the recorded measurements. Must be awaited before an invocation ends, because Lambda then freezes the sandbox. */
  flush(): Promise<void>;
}

/**
 * Creates a meter that logs measurements in CloudWatch's embedded metric format, which needs no API call. Measurements are
 * buffered until the end of the invocation. The library is loaded on first use, since most requests measure nothing.
 */
export function createEmfMeter(stage: string, log: Log): EmfMeter {
  let pending: Measurement[] = [];
  return {
    record(name, value, dimensions = {}) {
      pending.push({ name, value, dimensions });
    },
    async flush() {
      if (pending.length === 0) return;
      const batch = pending;
      pending = [];
      try {
        await writeMetrics(stage, batch);
      } catch (error) {
        log.warn("metrics.flush_failed", errorText(error));
      }
    },
  };
}

/** Writes one log line per set of dimensions, with all values of the set. */
async function writeMetrics(stage: string, measurements: readonly Measurement[]): Promise<void> {
  const { Metrics } = await import("@aws-lambda-powertools/metrics");
  const metrics = new Metrics({ namespace: NAMESPACE, serviceName: SERVICE, defaultDimensions: { stage } });
  for (const sameDimensions of Map.groupBy(measurements, ({ dimensions }) => JSON.stringify(dimensions)).values()) {
    for (const [name, value] of Object.entries(sameDimensions[0]!.dimensions)) metrics.addDimension(name, value);
    for (const { name, value } of sameDimensions) metrics.addMetric(name, METRICS[name], value);
    metrics.publishStoredMetrics();
  }
}
