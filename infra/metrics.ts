/** References to metrics, for alarms and the dashboard. */
import type { Metric } from "./alarm.ts";
import { apiGateway } from "./api-gateway.ts";

export const FIVE_MINUTES = 300;

type Name = $util.Input<string>;

export const queueMetric = (queue: sst.aws.Queue, metricName: string): Metric => ({
  namespace: "AWS/SQS",
  metricName,
  dimensions: { QueueName: queue.nodes.queue.name },
  statistic: "Maximum",
  period: 60,
});

export const functionMetric = (name: Name, metricName: string, statistic: Metric["statistic"] = "Sum"): Metric => ({
  namespace: "AWS/Lambda",
  metricName,
  dimensions: { FunctionName: name },
  statistic,
  period: FIVE_MINUTES,
});

/** Returns a metric of all functions of the account in this region. */
export const accountMetric = (metricName: string): Metric => ({
  namespace: "AWS/Lambda",
  metricName,
  statistic: "Maximum",
  period: 60,
});

export const apiMetric = (metricName: string): Metric => ({
  namespace: "AWS/ApiGateway",
  metricName,
  dimensions: { ApiId: apiGateway.nodes.api.id },
  statistic: "Sum",
  period: FIVE_MINUTES,
});

/** A metric of the containers of a service. */
export const containerMetric = (
  dimensions: NonNullable<Metric["dimensions"]>,
  metricName: string,
  statistic: Metric["statistic"],
): Metric => ({ namespace: "AWS/ECS", metricName, dimensions, statistic, period: 60 });

/** The namespace of the metrics that the functions record. Their names are in packages/core/src/context/meter.ts. */
export const SERVICE_NAMESPACE = "BoardCoordination";
export const serviceMetric = (metricName: string, statistic: Metric["statistic"], period: number): Metric => ({
  namespace: SERVICE_NAMESPACE,
  metricName,
  dimensions: { service: "board-coordination", stage: $app.stage },
  statistic,
  period,
});
