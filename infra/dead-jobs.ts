import { deliveriesConsumer } from "./deliveries.ts";
import { outboundConsumer } from "./outbound.ts";
import { probesConsumer } from "./probes.ts";
import { syncsConsumer } from "./syncs.ts";
import type { Metric } from "./alarm.ts";

const namespace = `${$app.name}-${$app.stage}`;
const metricName = "JobsGivenUp";

const consumers = {
  Deliveries: deliveriesConsumer,
  Syncs: syncsConsumer,
  Probes: probesConsumer,
  Outbound: outboundConsumer,
};

// A dead job is a row in the database and a log line, and not a message in the dead-letter queue, so it is counted from the log.
for (const [name, consumer] of Object.entries(consumers))
  new aws.cloudwatch.LogMetricFilter(`${name}GivenUp`, {
    logGroupName: consumer.nodes.logGroup.apply((group) => group!.name),
    pattern: '{ $.event = "jobs.dead" }',
    metricTransformation: { namespace, name: metricName, value: "1", unit: "Count" },
  });

export const deadJobsMetric: Metric = { namespace, metricName, statistic: "Sum", period: 300 };
