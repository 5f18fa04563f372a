/** The CloudWatch dashboard: requests, latency, waiting times, failures and open streams. */
import type { Metric } from "./alarm.ts";
import { deadJobsMetric } from "./dead-jobs.ts";
import { deliveriesConsumer } from "./deliveries.ts";
import {
  accountMetric,
  apiMetric,
  FIVE_MINUTES,
  functionMetric,
  queueMetric,
  serviceMetric,
  containerMetric,
  SERVICE_NAMESPACE,
} from "./metrics.ts";
import { outboundConsumer } from "./outbound.ts";
import { probesConsumer } from "./probes.ts";
import {
  deliveryDeadLetters,
  deliveryQueue,
  outboundDeadLetters,
  outboundQueue,
  probeDeadLetters,
  probeQueue,
  scheduleDeadLetters,
  syncDeadLetters,
  syncQueue,
} from "./queue.ts";
import { scheduler } from "./schedules.ts";
import { streamFunction, streamService } from "./stream.ts";
import { syncsConsumer } from "./syncs.ts";

type ChartLine = (Omit<Metric, "statistic"> & { statistic: string }) | { expression: string };

const withStatistic = (metric: Metric, statistic: string): ChartLine => ({ ...metric, statistic });
const fiveMinuteMetric = (metricName: string, statistic: Metric["statistic"]) =>
  serviceMetric(metricName, statistic, FIVE_MINUTES);
const messageAge = (of: sst.aws.Queue) => queueMetric(of, "ApproximateAgeOfOldestMessage");
const visibleMessages = (of: sst.aws.Queue) => queueMetric(of, "ApproximateNumberOfMessagesVisible");

/** Returns a chart with one line per combination of values of the given dimensions. */
const linePerDimension = (metricName: string, dimensions: string): ChartLine => ({
  expression: `SEARCH('{${SERVICE_NAMESPACE},service,stage,${dimensions}} MetricName="${metricName}" stage="${$app.stage}"', 'Sum', ${FIVE_MINUTES})`,
});

/** The lines of each chart by title, in display order. */
const charts: Record<string, ChartLine[]> = {
  Requests: [apiMetric("Count"), apiMetric("4xx"), apiMetric("5xx")],
  "Latency, p50 and p99": [withStatistic(apiMetric("Latency"), "p50"), withStatistic(apiMetric("Latency"), "p99")],
  "Invalid credentials": [fiveMinuteMetric("AuthFailures", "Sum")],
  "From webhook post to agent notification, ms": [
    withStatistic(fiveMinuteMetric("IngestLag", "Maximum"), "p50"),
    withStatistic(fiveMinuteMetric("IngestLag", "Maximum"), "p99"),
  ],
  "Job attempts": [linePerDimension("DeliveryAttempts", "kind,outcome")],
  "Runs, begun and expired": [fiveMinuteMetric("RunsStarted", "Sum"), fiveMinuteMetric("RunsExpired", "Sum")],
  "Exhausted budgets": [linePerDimension("BudgetExhausted", "scope")],
  "Circuits of hosts": [linePerDimension("CircuitChanges", "state")],
  "Oldest due job, s": [fiveMinuteMetric("JobAge", "Maximum")],
  "Oldest transaction that delays streams, s": [fiveMinuteMetric("StreamHorizonAge", "Maximum")],
  "Oldest message, s": [deliveryQueue, syncQueue, probeQueue, outboundQueue].map(messageAge),
  "Dead letters and dead jobs": [
    visibleMessages(deliveryDeadLetters),
    visibleMessages(syncDeadLetters),
    visibleMessages(probeDeadLetters),
    visibleMessages(outboundDeadLetters),
    visibleMessages(scheduleDeadLetters),
    deadJobsMetric,
  ],
  "Template syncs, ms": [
    withStatistic(fiveMinuteMetric("SyncDuration", "Maximum"), "p50"),
    fiveMinuteMetric("SyncDuration", "Maximum"),
  ],
  "Background errors": [deliveriesConsumer, syncsConsumer, probesConsumer, outboundConsumer, scheduler].map(({ name }) =>
    functionMetric(name, "Errors"),
  ),
  "Concurrency of the account": [accountMetric("ClaimedAccountConcurrency")],
  ...(streamFunction ? { "Open streams": [functionMetric(streamFunction.name, "ConcurrentExecutions", "Maximum")] } : {}),
  ...(streamService
    ? {
        "Container of streams, %": ["CPUUtilization", "MemoryUtilization"].map((metricName) =>
          containerMetric(streamService!.dimensions, metricName, "Maximum"),
        ),
      }
    : {}),
};

/** Places three charts in a row of 24 columns. */
const gridPosition = (index: number) => ({ x: (index % 3) * 8, y: Math.floor(index / 3) * 6, width: 8, height: 6 });

const toMetric = (line: ChartLine) =>
  "expression" in line
    ? [{ expression: line.expression }]
    : [
        line.namespace,
        line.metricName,
        ...Object.entries(line.dimensions ?? {}).flat(),
        { stat: line.statistic, period: line.period },
      ];

new aws.cloudwatch.Dashboard("Dashboard", {
  dashboardName: `${$app.name}-${$app.stage}`,
  dashboardBody: $jsonStringify({
    widgets: Object.entries(charts).map(([title, lines], index) => ({
      type: "metric",
      ...gridPosition(index),
      properties: { title, region: aws.getRegionOutput().region, metrics: lines.map(toMetric) },
    })),
  }),
});
