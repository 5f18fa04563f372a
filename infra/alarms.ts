import { deliveries, type Queue, syncs } from "../packages/functions/src/manifest.ts";
import { deadLetters, queue, syncDeadLetters, syncQueue } from "./queue.ts";
import { scheduler } from "./schedules.ts";

const topic = new aws.sns.Topic("Alarms");

// The recipient confirms once by mail. Without one the alarms still show in CloudWatch.
if (process.env.ALARM_EMAIL)
  new aws.sns.TopicSubscription("AlarmsByMail", { topic: topic.arn, protocol: "email", endpoint: process.env.ALARM_EMAIL });

type Metric = Pick<
  aws.cloudwatch.MetricAlarmArgs,
  "namespace" | "metricName" | "dimensions" | "statistic" | "threshold" | "period"
>;

/** Raised as soon as one period (seconds) is over the threshold; silence is health. */
function alarm(name: string, alarmDescription: string, metric: Metric) {
  new aws.cloudwatch.MetricAlarm(name, {
    ...metric,
    alarmDescription,
    comparisonOperator: "GreaterThanThreshold",
    evaluationPeriods: 1,
    treatMissingData: "notBreaching",
    alarmActions: [topic.arn],
    okActions: [topic.arn],
  });
}

function alarmDeadLetters(name: string, what: string, letters: sst.aws.Queue) {
  alarm(name, `${what} failed every time it was received: a bug or a broken function, never a host that is down`, {
    namespace: "AWS/SQS",
    metricName: "ApproximateNumberOfMessagesVisible",
    dimensions: { QueueName: letters.nodes.queue.name },
    statistic: "Maximum",
    threshold: 0,
    period: 60,
  });
}

function alarmLate(name: string, what: string, late: sst.aws.Queue, { visibility_seconds }: Queue) {
  alarm(name, `${what} are picked up later than a second attempt would come: the consumer is down or too slow`, {
    namespace: "AWS/SQS",
    metricName: "ApproximateAgeOfOldestMessage",
    dimensions: { QueueName: late.nodes.queue.name },
    statistic: "Maximum",
    threshold: 2 * visibility_seconds,
    period: 60,
  });
}

alarmDeadLetters("DeadLettersPresent", "A delivery", deadLetters);
alarmDeadLetters("SyncDeadLettersPresent", "A part of a template sync", syncDeadLetters);
alarmLate("DeliveriesLate", "Deliveries", queue, deliveries);
alarmLate("SyncsLate", "Parts of template syncs", syncQueue, syncs);

alarm("SchedulesFailing", "A scheduled run failed for good: the first attempt and both repeats, which take three minutes", {
  namespace: "AWS/Lambda",
  metricName: "Errors",
  dimensions: { FunctionName: scheduler.name },
  statistic: "Sum",
  threshold: 2,
  period: 900,
});
