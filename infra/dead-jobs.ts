import { deliverer } from "./deliveries.ts";
import { syncer } from "./syncs.ts";
import type { Metric } from "./alarm.ts";

const namespace = `${$app.name}-${$app.stage}`;
const metricName = "JobsGivenUp";

// A dead job is a row in the database and a line in the log; the queue knows nothing of it.
for (const [name, consumer] of Object.entries({ Deliveries: deliverer, Syncs: syncer }))
  new aws.cloudwatch.LogMetricFilter(`${name}GivenUp`, {
    logGroupName: consumer.nodes.logGroup.apply((group) => group!.name),
    pattern: '{ $.event = "jobs.dead" }',
    metricTransformation: { namespace, name: metricName, value: "1", unit: "Count" },
  });

export const deadJobs: Metric = { namespace, metricName, statistic: "Sum", period: 300 };
