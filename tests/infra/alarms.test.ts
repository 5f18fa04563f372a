/** What is wrong is told: each alarm looks at something that exists, and says what to do. */
import { isDeepStrictEqual } from "node:util";
import { METRICS } from "@board/core/meter";
import { schedules, stream } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { graphOf, one, sorted } from "./graph.ts";
import type { Resource } from "./mocks.ts";

const graph = graphOf("production");

const SECTIONS = ["Dead letters", "A queue is late", "Jobs wait", "Errors", "Throttles", "Streams are full", "A schedule fails"];
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

/** The resource that a metric of AWS's is about; throws when the graph has none. */
const RESOURCE_OF: Readonly<Record<string, (dimensions: Record<string, string>) => Resource>> = {
  "AWS/SQS": ({ QueueName }) => one(graph.queues(), QueueName!),
  "AWS/Lambda": ({ FunctionName }) => one(graph.functions(), FunctionName!),
  "AWS/ApiGateway": ({ ApiId }) => one(graph.all("aws:apigatewayv2/api:Api"), ApiId!),
};

/** What the alarms on a metric of AWS's are about. */
const aboutIn = (wanted: string) =>
  sorted(
    graph
      .alarms()
      .flatMap(metricsOf)
      .filter(({ metricName }) => metricName === wanted)
      .map(({ namespace, dimensions = {} }) => RESOURCE_OF[namespace]!(dimensions).name),
  );

const namesOf = (resources: readonly Resource[]) => sorted(resources.map(({ name }) => name));

/** Whether a resource of the graph, a filter on its logs or the service itself makes the metric. */
function isMade({ namespace, metricName, dimensions = {} }: Metric): boolean {
  if (namespace === "BoardCoordination")
    return metricName in METRICS && isDeepStrictEqual(dimensions, { service: "board-coordination", stage: "production" });
  const about = RESOURCE_OF[namespace];
  if (about) return about(dimensions) !== undefined;
  const filters = graph.all("aws:cloudwatch/logMetricFilter:LogMetricFilter").map(({ inputs }) => inputs.metricTransformation);
  return filters.some((made) => made.namespace === namespace && made.name === metricName);
}

test("every alarm looks at metrics that something in the graph makes", () => {
  for (const alarm of graph.alarms()) {
    expect(metricsOf(alarm).length).toBeGreaterThan(0);
    expect(metricsOf(alarm).length).toBeLessThanOrEqual(MOST_METRICS);
    expect(metricsOf(alarm).filter((metric) => !isMade(metric))).toEqual([]);
  }
});

test("every alarm reaches somebody when it begins and when it ends", () => {
  const [topic, ...rest] = graph.all("aws:sns/topic:Topic");
  expect(rest).toEqual([]);
  for (const { inputs } of graph.alarms())
    for (const actions of [inputs.alarmActions, inputs.okActions])
      expect(actions).toEqual([expect.stringMatching(new RegExp(`:${topic?.inputs.name}$`))]);
  expect(graph.all("aws:sns/topicSubscription:TopicSubscription").map(({ inputs }) => inputs.endpoint)).toEqual([
    "alarms@example.com",
  ]);
});

test("every alarm says which stage it is of, what it means and where to read on", () => {
  const named = graph
    .alarms()
    .map(({ inputs }) => /^.+\. See "(.+)" in docs\/operating\.md\.$/.exec(inputs.alarmDescription)?.[1]);
  expect(new Set(named)).toEqual(new Set(SECTIONS));
  for (const { name, inputs } of graph.alarms()) expect(inputs.name).toBe(`board-coordination-production-${name}`);
  for (const { inputs } of graph.alarms()) expect(inputs.alarmDescription.length).toBeLessThanOrEqual(1024);
});

test("every dead letter and every late queue is alarmed", () => {
  const letters = graph.queues().filter(({ inputs }) => !inputs.redrivePolicy);
  const served = graph.queues().filter(({ inputs }) => inputs.redrivePolicy);
  expect(aboutIn("ApproximateNumberOfMessagesVisible")).toEqual(namesOf(letters));
  expect(aboutIn("ApproximateAgeOfOldestMessage")).toEqual(namesOf(served));
});

test("every function that answers requests is watched for throttles, and every consumer for errors", () => {
  const answering = graph.functions().filter(({ name }) => name.startsWith("Api") || name === "StreamFunction");
  expect(aboutIn("Throttles")).toEqual(namesOf(answering));
  const consumers = ["Deliveries", "Syncs"].flatMap((queue) => graph.consumersOf(queue));
  expect(aboutIn("Errors")).toEqual(namesOf(consumers));
});

test("errors of the API are alarmed as a share, and only when there are a few", () => {
  const [alarm] = graph.alarms().filter((one) => metricsOf(one).some(({ metricName }) => metricName === "5xx"));
  const queries = (alarm?.inputs.metricQueries ?? []) as { expression?: string; returnData?: boolean }[];
  expect(queries.find(({ returnData }) => returnData)?.expression).toMatch(/^IF\(errors >= \d+, 100 \* errors \/ requests, 0\)$/);
  expect(alarm?.inputs.threshold).toBeLessThan(100);
});

test("jobs that wait are alarmed later than a tick, and streams before they are full", () => {
  const [age] = graph.alarms().filter((one) => metricsOf(one).some(({ metricName }) => metricName === "JobAge"));
  expect(age?.inputs.threshold).toBeGreaterThan(schedules.relay.every_minutes * 60);
  expect(age?.inputs.period).toBeGreaterThanOrEqual(schedules.relay.every_minutes * 60);
  const [full] = graph.alarms().filter((one) => metricsOf(one).some(({ metricName }) => metricName === "ConcurrentExecutions"));
  expect(full?.inputs.threshold).toBeLessThan(stream.max_concurrency);
  expect(aboutIn("ConcurrentExecutions")).toEqual(["StreamFunction"]);
});

test("a job that is given up is counted, whichever consumer gave it up", () => {
  const filters = graph.all("aws:cloudwatch/logMetricFilter:LogMetricFilter").map(({ inputs }) => inputs);
  const consumers = ["Deliveries", "Syncs"].flatMap((queue) => graph.consumersOf(queue));
  expect(sorted(filters.map(({ logGroupName }) => logGroupName))).toEqual(
    sorted(consumers.map(({ inputs }) => inputs.loggingConfig.logGroup)),
  );
});

test("the dashboard shows metrics that exist, and every one that the service measures", () => {
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
  expect(shown.filter((metric) => !isMade(metric))).toEqual([]);
  for (const name of Object.keys(METRICS)) expect(JSON.stringify(lines)).toContain(name);
});
