/** Includes the stage, because stages may share an account and an alarm email shows little more than the name. */
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
  | "Errors"
  | "Throttles"
  | "Streams are full"
  | "Streams are late"
  | "A schedule fails";

interface AlarmSpec {
  /** The problem in one sentence, which the email contains. */
  summary: string;
  section: RunbookSection;
  /** The alarm is raised above this value. */
  threshold: number;
}

export interface Metric {
  namespace: string;
  metricName: string;
  dimensions?: Record<string, $util.Input<string>>;
  statistic: "Maximum" | "Sum";
  /** Seconds. */
  period: number;
}

const commonArgs = (name: string, { summary, section, threshold }: AlarmSpec) => ({
  name: resourceName(name),
  alarmDescription: `${summary}. See "${section}" in docs/operating.md.`,
  threshold,
  comparisonOperator: "GreaterThanThreshold",
  // One period is enough, and no data means no problem.
  evaluationPeriods: 1,
  treatMissingData: "notBreaching",
  alarmActions: [topic.arn],
  okActions: [topic.arn],
});

export const alarm = (name: string, metric: Metric, spec: AlarmSpec) =>
  new aws.cloudwatch.MetricAlarm(name, { ...metric, ...commonArgs(name, spec) });

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
