/** Each alarm must watch a metric that exists and point to a section of docs/operating.md. */
import { isDeepStrictEqual } from "node:util";
import { METRICS } from "@board/core/context/meter";
import { schedules, stream } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { findResource, graphOf, sorted } from "./graph.ts";
import type { Resource } from "./mocks.ts";

const graph = graphOf("production");

const SECTIONS = [
  "Dead letters",
  "A queue is late",
  "Jobs wait",
  "Deliveries take long",
  "Schedules have stopped",
  "Errors",
  "Throttles",
  "Concurrency of the account",
  "Streams are full",
  "Streams are late",
  "A schedule fails",
];
const MOST_METRICS = 10;

interface Metric {
  namespace: string;
  metricName: string;
  dimensions?: Record<string, string>;
}

const metricsOf = ({ inputs }: Resource): Metric[] =>
  inputs.metricQueries
    ? (inputs.metricQueries as { metric?: Metric }[]).flatMap(({ metric }) => metric ?? [])
    : [inputs as Metric];

/** For each namespace of AWS metrics, returns the resource that a metric is about, and throws when the graph has none. */
const RESOURCE_OF: Readonly<Record<string, (dimensions: Record<string, string>) => Resource>> = {
  "AWS/SQS": ({ QueueName }) => findResource(graph.queues(), QueueName!),
  "AWS/Lambda": ({ FunctionName }) => findResource(graph.functions(), FunctionName!),
  "AWS/ApiGateway": ({ ApiId }) => findResource(graph.all("aws:apigatewayv2/api:Api"), ApiId!),
};

/** Returns the names of the resources with an alarm on the given metric. */
const alarmedResources = (wanted: string) =>
  sorted(
    graph
      .alarms()
      .flatMap(metricsOf)
      .filter(({ metricName }) => metricName === wanted)
      .map(({ namespace, dimensions = {} }) => RESOURCE_OF[namespace]!(dimensions).name),
  );

const alarmNamed = (name: string) => graph.alarms().find((alarm) => alarm.name === name) as Resource;

const namesOf = (resources: readonly Resource[]) => sorted(resources.map(({ name }) => name));

/** Checks whether a resource of the graph, a filter on its logs or the service itself emits the metric. */
function isEmitted({ namespace, metricName, dimensions = {} }: Metric): boolean {
  if (namespace === "BoardCoordination")
    return metricName in METRICS && isDeepStrictEqual(dimensions, { service: "board-coordination", stage: "production" });
  if (namespace === "AWS/Lambda" && metricName === "ClaimedAccountConcurrency") return isDeepStrictEqual(dimensions, {});
  const resourceOf = RESOURCE_OF[namespace];
  if (resourceOf) return resourceOf(dimensions) !== undefined;
  const filters = graph.all("aws:cloudwatch/logMetricFilter:LogMetricFilter").map(({ inputs }) => inputs.metricTransformation);
  return filters.some((filter) => filter.namespace === namespace && filter.name === metricName);
}

test("every alarm watches metrics that something in the graph emits", () => {
  for (const alarm of graph.alarms()) {
    expect(metricsOf(alarm).length).toBeGreaterThan(0);
    expect(metricsOf(alarm).length).toBeLessThanOrEqual(MOST_METRICS);
    expect(metricsOf(alarm).filter((metric) => !isEmitted(metric))).toEqual([]);
  }
});

test("every alarm sends an e-mail when it starts and when it ends", () => {
  const [topic, ...rest] = graph.all("aws:sns/topic:Topic");
  expect(rest).toEqual([]);
  for (const { inputs } of graph.alarms())
    for (const actions of [inputs.alarmActions, inputs.okActions])
      expect(actions).toEqual([expect.stringMatching(new RegExp(`:${topic?.inputs.name}$`))]);
  expect(graph.all("aws:sns/topicSubscription:TopicSubscription").map(({ inputs }) => inputs.endpoint)).toEqual([
    "alarms@example.com",
  ]);
});

test("every alarm names its stage, its meaning and a section of docs/operating.md", () => {
  const named = graph
    .alarms()
    .map(({ inputs }) => /^.+\. See "(.+)" in docs\/operating\.md\.$/.exec(inputs.alarmDescription)?.[1]);
  expect(new Set(named)).toEqual(new Set(SECTIONS));
  for (const { name, inputs } of graph.alarms()) expect(inputs.name).toBe(`board-coordination-production-${name}`);
  for (const { inputs } of graph.alarms()) expect(inputs.alarmDescription.length).toBeLessThanOrEqual(1024);
});

test("every dead-letter queue has an alarm for messages, and every other queue one for late messages", () => {
  const letters = graph.queues().filter(({ inputs }) => !inputs.redrivePolicy);
  const served = graph.queues().filter(({ inputs }) => inputs.redrivePolicy);
  expect(alarmedResources("ApproximateNumberOfMessagesVisible")).toEqual(namesOf(letters));
  expect(alarmedResources("ApproximateAgeOfOldestMessage")).toEqual(namesOf(served));
});

test("every function that answers requests has an alarm for throttles, and every consumer one for errors", () => {
  const answering = graph.functions().filter(({ name }) => name.startsWith("Api") || name === "StreamFunction");
  expect(alarmedResources("Throttles")).toEqual(namesOf(answering));
  const consumers = ["Deliveries", "Syncs", "Probes", "Outbound"].flatMap((queue) => graph.consumersOf(queue));
  expect(alarmedResources("Errors")).toEqual(namesOf(consumers));
});

test("the alarm for API errors watches the share of failed requests, and ignores fewer failures than a minimum number", () => {
  const [alarm] = graph.alarms().filter((alarm) => metricsOf(alarm).some(({ metricName }) => metricName === "5xx"));
  const queries = (alarm?.inputs.metricQueries ?? []) as { expression?: string; returnData?: boolean }[];
  expect(queries.find(({ returnData }) => returnData)?.expression).toMatch(/^IF\(errors >= \d+, 100 \* errors \/ requests, 0\)$/);
  expect(alarm?.inputs.threshold).toBeLessThan(100);
});

test("the alarm for waiting jobs tolerates a delay of one scheduled run, and the alarm for streams comes before their limit is reached", () => {
  const age = alarmNamed("JobsWait");
  expect(age?.inputs.threshold).toBeGreaterThan(schedules.relay.every_minutes * 60);
  expect(age?.inputs.period).toBeGreaterThanOrEqual(schedules.relay.every_minutes * 60);
  const [full] = graph
    .alarms()
    .filter((alarm) => metricsOf(alarm).some(({ metricName }) => metricName === "ConcurrentExecutions"));
  expect(full?.inputs.threshold).toBeLessThan(stream.max_concurrency);
  expect(alarmedResources("ConcurrentExecutions")).toEqual(["StreamFunction"]);
});

test("schedules that stop raise an alarm, because missing data counts as a breach", () => {
  const { inputs } = alarmNamed("SchedulesStopped");
  expect(inputs).toMatchObject({
    metricName: "JobAge",
    statistic: "SampleCount",
    comparisonOperator: "LessThanThreshold",
    threshold: 1,
    treatMissingData: "breaching",
  });
  expect(inputs.period).toBeGreaterThanOrEqual(schedules.relay.every_minutes * 60);
  // One late run, which leaves a period empty, must not raise an alarm.
  expect(inputs.evaluationPeriods).toBeGreaterThan(1);
  expect(inputs.datapointsToAlarm).toBe(inputs.evaluationPeriods);
  const others = graph.alarms().filter(({ name }) => name !== "SchedulesStopped");
  expect(new Set(others.map((alarm) => alarm.inputs.treatMissingData))).toEqual(new Set(["notBreaching"]));
});

test("webhook posts that reach their agent later than the target of five seconds raise an alarm", () => {
  const { inputs } = alarmNamed("DeliveriesSlow");
  expect(inputs).toMatchObject({
    metricName: "IngestLag",
    extendedStatistic: "p99",
    threshold: 5_000,
    comparisonOperator: "GreaterThanThreshold",
  });
  expect(inputs).not.toHaveProperty("statistic");
});

test("the concurrency of the account raises an alarm before it is used up", () => {
  const { inputs } = alarmNamed("AccountConcurrencyHigh");
  expect(inputs).toMatchObject({ namespace: "AWS/Lambda", metricName: "ClaimedAccountConcurrency", threshold: 800 });
  expect(inputs).not.toHaveProperty("dimensions");
});

test("dead jobs of every consumer are counted", () => {
  const filters = graph.all("aws:cloudwatch/logMetricFilter:LogMetricFilter").map(({ inputs }) => inputs);
  const consumers = ["Deliveries", "Syncs", "Probes", "Outbound"].flatMap((queue) => graph.consumersOf(queue));
  expect(sorted(filters.map(({ logGroupName }) => logGroupName))).toEqual(
    sorted(consumers.map(({ inputs }) => inputs.loggingConfig.logGroup)),
  );
});

test("the dashboard shows only existing metrics and every metric of the service", () => {
  const [dashboard] = graph.all("aws:cloudwatch/dashboard:Dashboard");
  const { widgets } = JSON.parse(dashboard?.inputs.dashboardBody) as {
    widgets: { properties: { metrics: (string | { expression?: string })[][] } }[];
  };
  const lines = widgets.flatMap(({ properties }) => properties.metrics);
  const plain = lines
    .filter(([first]) => typeof first === "string")
    .map((line) => line.filter((part) => typeof part === "string"));
  const shown = plain.map(([namespace = "", metricName = "", ...pairs]) => ({
    namespace,
    metricName,
    dimensions: Object.fromEntries(pairs.flatMap((key, index) => (index % 2 === 0 ? [[key, pairs[index + 1] ?? ""]] : []))),
  }));
  expect(shown.length).toBeGreaterThan(0);
  expect(shown.filter((metric) => !isEmitted(metric))).toEqual([]);
  for (const name of Object.keys(METRICS)) expect(JSON.stringify(lines)).toContain(name);
});
