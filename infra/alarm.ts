/**
 * Returns the name of a resource. It includes the stage, because stages may share an account and an alarm email shows little more
 * than the name.
 */
const resourceName = (name: string) => `${$app.name}-${$app.stage}-${name}`;

const topic = new aws.sns.Topic("Alarms", { name: resourceName("Alarms") });

// The recipient must confirm once by email. Without a recipient, alarms only show in CloudWatch.
if (process.env.ALARM_EMAIL)
  new aws.sns.TopicSubscription("AlarmsByMail", { topic: topic.arn, protocol: "email", endpoint: process.env.ALARM_EMAIL });

/** Sections of docs/operating.md. */
type RunbookSection =
  | "Dead letters"
  | "A queue is late"
  | "Jobs wait"
  | "Deliveries take long"
  | "Schedules have stopped"
  | "Errors"
  | "Throttles"
  | "Concurrency of the account"
  | "Streams are full"
  | "Streams are late"
  | "The container of streams"
  | "A schedule fails";

interface AlarmSpec {
  /** The problem in one sentence. The email contains it. */
  summary: string;
  section: RunbookSection;
  /** The alarm is raised above this value. */
  threshold: number;
  /** The number of periods that the alarm evaluates, and how many of them must breach the threshold. By default, both are one. */
  periods?: { of: number; breaching: number };
  /** If true, the alarm is raised below the threshold instead of above it, and also when there is no data. */
  when_missing?: boolean;
}

export interface Metric {
  namespace: string;
  metricName: string;
  dimensions?: Record<string, $util.Input<string>>;
  statistic: "Maximum" | "Sum" | "SampleCount" | "p99";
  /** Length of a period in seconds. */
  period: number;
}

const commonArgs = (name: string, { summary, section, threshold, periods, when_missing = false }: AlarmSpec) => ({
  name: resourceName(name),
  alarmDescription: `${summary}. See "${section}" in docs/operating.md.`,
  threshold,
  comparisonOperator: when_missing ? "LessThanThreshold" : "GreaterThanThreshold",
  evaluationPeriods: periods?.of ?? 1,
  ...(periods ? { datapointsToAlarm: periods.breaching } : {}),
  treatMissingData: when_missing ? "breaching" : "notBreaching",
  alarmActions: [topic.arn],
  okActions: [topic.arn],
});

export const alarm = (name: string, { statistic, ...metric }: Metric, spec: AlarmSpec) =>
  new aws.cloudwatch.MetricAlarm(name, {
    ...metric,
    // CloudWatch has a separate field for percentiles.
    ...(statistic === "p99" ? { extendedStatistic: statistic } : { statistic }),
    ...commonArgs(name, spec),
  });

/** CloudWatch's limit for an alarm on an expression. */
export const MAX_METRICS_PER_ALARM = 10;

/** Creates an alarm on an expression, which refers to the metrics by their keys. */
export const expressionAlarm = (name: string, expression: string, metrics: Record<string, Metric>, spec: AlarmSpec) =>
  new aws.cloudwatch.MetricAlarm(name, {
    ...commonArgs(name, spec),
    metricQueries: [
      ...Object.entries(metrics).map(([id, { statistic, ...metric }]) => ({ id, metric: { ...metric, stat: statistic } })),
      { id: "alarmed", expression, label: name, returnData: true },
    ],
  });
