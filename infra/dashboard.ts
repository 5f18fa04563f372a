/** The service at a glance: what comes in, how long it waits, what fails, what is open. */
import type { Metric } from "./alarm.ts";
import { deadJobs } from "./dead-jobs.ts";
import { deliverer } from "./deliveries.ts";
import { ofApi, ofFunction, ofQueue, ofService, OWN_NAMESPACE } from "./metrics.ts";
import { deadLetters, queue, scheduleDeadLetters, syncDeadLetters, syncQueue } from "./queue.ts";
import { scheduler } from "./schedules.ts";
import { streams } from "./stream.ts";
import { syncer } from "./syncs.ts";

const FIVE_MINUTES = 300;

type Line = (Omit<Metric, "statistic"> & { statistic: string }) | { expression: string };

const at = (metric: Metric, statistic: string): Line => ({ ...metric, statistic });
const own = (metricName: string, statistic: Metric["statistic"]) => ofService(metricName, statistic, FIVE_MINUTES);
const age = (of: sst.aws.Queue) => ofQueue(of, "ApproximateAgeOfOldestMessage");
const waiting = (of: sst.aws.Queue) => ofQueue(of, "ApproximateNumberOfMessagesVisible");

/** A line per value of the metric's further dimensions. */
const eachOf = (metricName: string, dimensions: string): Line => ({
  expression: `SEARCH('{${OWN_NAMESPACE},service,stage,${dimensions}} MetricName="${metricName}" stage="${$app.stage}"', 'Sum', ${FIVE_MINUTES})`,
});

/** Title to lines, in the order of reading. */
const charts: Record<string, Line[]> = {
  Requests: [ofApi("Count"), ofApi("4xx"), ofApi("5xx")],
  "Latency, p50 and p99": [at(ofApi("Latency"), "p50"), at(ofApi("Latency"), "p99")],
  "Refused credentials": [own("AuthFailures", "Sum")],
  "From a webhook until its agent was told, ms": [at(own("IngestLag", "Maximum"), "p50"), at(own("IngestLag", "Maximum"), "p99")],
  "Attempts at jobs": [eachOf("DeliveryAttempts", "kind,outcome")],
  "Oldest job that could be done, s": [own("JobAge", "Maximum")],
  "Oldest message, s": [age(queue), age(syncQueue)],
  "Dead letters and jobs given up": [waiting(deadLetters), waiting(syncDeadLetters), waiting(scheduleDeadLetters), deadJobs],
  "Template syncs, ms": [at(own("SyncDuration", "Maximum"), "p50"), own("SyncDuration", "Maximum")],
  "Errors in the background": [deliverer.name, syncer.name, scheduler.name].map((name) => ofFunction(name, "Errors")),
  "Open streams": [ofFunction(streams.name, "ConcurrentExecutions", "Maximum")],
};

/** Three in a row of 24 columns. */
const placed = (index: number) => ({ x: (index % 3) * 8, y: Math.floor(index / 3) * 6, width: 8, height: 6 });

const toMetric = (line: Line) =>
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
      ...placed(index),
      properties: { title, region: aws.getRegionOutput().region, metrics: lines.map(toMetric) },
    })),
  }),
});
