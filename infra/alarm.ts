/** Stages may share an account, and a mail shows little but the alarm's name. */
const named = (name: string) => `${$app.name}-${$app.stage}-${name}`;

const topic = new aws.sns.Topic("Alarms", { name: named("Alarms") });

// The recipient confirms once by mail. Without one the alarms still show in CloudWatch.
if (process.env.ALARM_EMAIL)
  new aws.sns.TopicSubscription("AlarmsByMail", { topic: topic.arn, protocol: "email", endpoint: process.env.ALARM_EMAIL });

/** Sections of docs/operating.md. */
type Section =
  | "Dead letters"
  | "A queue is late"
  | "Jobs wait"
  | "Errors"
  | "Throttles"
  | "Streams are full"
  | "A schedule fails";

interface Meaning {
  /** What is the matter, in a sentence; the mail says it. */
  means: string;
  section: Section;
  /** Exceeded is alarmed. */
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

const common = (name: string, { means, section, threshold }: Meaning) => ({
  name: named(name),
  alarmDescription: `${means}. See "${section}" in docs/operating.md.`,
  threshold,
  comparisonOperator: "GreaterThanThreshold",
  // One period is enough, and silence is health.
  evaluationPeriods: 1,
  treatMissingData: "notBreaching",
  alarmActions: [topic.arn],
  okActions: [topic.arn],
});

export const alarm = (name: string, metric: Metric, meaning: Meaning) =>
  new aws.cloudwatch.MetricAlarm(name, { ...metric, ...common(name, meaning) });

/** CloudWatch lets an expression look at no more. */
export const MOST_METRICS = 10;

/** An alarm on an expression over metrics, which it calls by their keys. */
export const alarmOn = (name: string, expression: string, metrics: Record<string, Metric>, meaning: Meaning) =>
  new aws.cloudwatch.MetricAlarm(name, {
    ...common(name, meaning),
    metricQueries: [
      ...Object.entries(metrics).map(([id, { statistic, ...metric }]) => ({ id, metric: { ...metric, stat: statistic } })),
      { id: "alarmed", expression, label: name, returnData: true },
    ],
  });
