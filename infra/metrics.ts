/** Metrics of the resources, as alarms and the dashboard read them. */
import type { Metric } from "./alarm.ts";
import { apiGateway } from "./api-gateway.ts";

const FIVE_MINUTES = 300;

type Name = $util.Input<string>;

export const ofQueue = (queue: sst.aws.Queue, metricName: string): Metric => ({
  namespace: "AWS/SQS",
  metricName,
  dimensions: { QueueName: queue.nodes.queue.name },
  statistic: "Maximum",
  period: 60,
});

export const ofFunction = (name: Name, metricName: string, statistic: Metric["statistic"] = "Sum"): Metric => ({
  namespace: "AWS/Lambda",
  metricName,
  dimensions: { FunctionName: name },
  statistic,
  period: FIVE_MINUTES,
});

export const ofApi = (metricName: string): Metric => ({
  namespace: "AWS/ApiGateway",
  metricName,
  dimensions: { ApiId: apiGateway.nodes.api.id },
  statistic: "Sum",
  period: FIVE_MINUTES,
});

/** What the functions measure themselves, under the names of `core/meter.ts`. */
export const OWN_NAMESPACE = "BoardCoordination";
export const ofService = (metricName: string, statistic: Metric["statistic"], period: number): Metric => ({
  namespace: OWN_NAMESPACE,
  metricName,
  dimensions: { service: "board-coordination", stage: $app.stage },
  statistic,
  period,
});
