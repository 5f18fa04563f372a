import { errorText, type Log } from "@board/core/log";
import { type Dimensions, type Meter, METRICS, type MetricName } from "@board/core/meter";

const NAMESPACE = "BoardCoordination";
const SERVICE = "board-coordination";

interface Measurement {
  name: MetricName;
  value: number;
  dimensions: Dimensions;
}

export interface EmfMeter extends Meter {
  /** Writes what was recorded. To be awaited before an invocation ends: the sandbox is frozen then. */
  flush(): Promise<void>;
}

/**
 * Measurements as log lines in CloudWatch's embedded metric format: no call, no permission, no time beside the writing.
 * They are kept until the end of the invocation, and the library is loaded when there is something to write, since most
 * requests measure nothing.
 */
export function createEmfMeter(stage: string, log: Log): EmfMeter {
  let kept: Measurement[] = [];
  return {
    record(name, value, dimensions = {}) {
      kept.push({ name, value, dimensions });
    },
    async flush() {
      if (kept.length === 0) return;
      const written = kept;
      kept = [];
      try {
        await write(stage, written);
      } catch (error) {
        log.warn("metrics.not_written", errorText(error));
      }
    },
  };
}

/** One line for each set of dimensions, with all values that were recorded under it. */
async function write(stage: string, measurements: readonly Measurement[]): Promise<void> {
  const { Metrics } = await import("@aws-lambda-powertools/metrics");
  const metrics = new Metrics({ namespace: NAMESPACE, serviceName: SERVICE, defaultDimensions: { stage } });
  for (const alike of Map.groupBy(measurements, ({ dimensions }) => JSON.stringify(dimensions)).values()) {
    for (const [name, value] of Object.entries(alike[0]!.dimensions)) metrics.addDimension(name, value);
    for (const { name, value } of alike) metrics.addMetric(name, METRICS[name], value);
    metrics.publishStoredMetrics();
  }
}
