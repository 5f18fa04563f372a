/** The graph that a production deployment would ask AWS for. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import {
  type ApiGroup,
  deliveries,
  groups,
  migrate,
  type Queue,
  scheduled,
  schedules,
  stream,
  syncs,
} from "@board/functions/manifest";
import { root } from "../support/bundle.ts";
import type { Resource } from "./mocks.ts";

const SECRETS = ["DatabaseUrl", "DatabaseDirectUrl", "EncryptionKey", "TokenPepper", "LocalAuthToken"];
const secretValue = (name: string) => `the-value-of-${name}`;
/** Marks a value that Pulumi treats specially, here always a secret: it stands in the object's own place. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";

/** As Pulumi got it, and with every secret opened. */
let sealed: Resource[];
let graph: Resource[];

beforeAll(() => {
  const file = ".sst/graph.json";
  execFileSync(process.execPath, [path.join(import.meta.dirname, "render.ts"), file], {
    cwd: root,
    stdio: "pipe",
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ALARM_EMAIL: "alarms@example.com",
      ...Object.fromEntries(SECRETS.map((name) => [`SST_SECRET_${name}`, secretValue(name)])),
    },
  });
  sealed = JSON.parse(readFileSync(path.join(root, file), "utf8"));
  graph = opened(sealed);
});

function mapSecrets<Value>(value: Value, map: (content: unknown) => unknown): Value {
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk);
    if (node === null || typeof node !== "object") return node;
    if (SIGNATURE in node && "value" in node) return map(node.value);
    return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, walk(child)]));
  };
  return walk(value) as Value;
}
const opened = <Value>(value: Value): Value => mapSecrets(value, opened);
const hidden = <Value>(value: Value): Value => mapSecrets(value, () => "(secret)");

const all = (type: string) => graph.filter((resource) => resource.type === type);
const functions = () => all("aws:lambda/function:Function");
const queues = () => all("aws:sqs/queue:Queue");

/** The one resource that an ARN, a URL or a name ends in. */
function one(resources: Resource[], reference: string): Resource {
  const found = resources.filter(({ name, inputs }) => reference.endsWith(inputs.name ?? name));
  if (found.length !== 1) throw new Error(`${found.length} resources are called ${reference}`);
  return found[0] as Resource;
}

/** Function name to the routes that reach it. */
function routesByFunction(): Map<string, Set<string>> {
  const byFunction = new Map<string, Set<string>>();
  for (const route of all("aws:apigatewayv2/route:Route")) {
    const integration = one(all("aws:apigatewayv2/integration:Integration"), route.inputs.target);
    const { name } = one(functions(), integration.inputs.integrationUri);
    byFunction.set(name, (byFunction.get(name) ?? new Set()).add(route.inputs.routeKey));
  }
  return byFunction;
}

interface Statement {
  role: string;
  actions: string[];
  resources: string[];
}

/** What the roles' own policies allow. */
const allowed = (): Statement[] =>
  all("aws:iam/role:Role").flatMap(({ inputs }) =>
    ((inputs.inlinePolicies ?? []) as { policy: string }[]).flatMap(({ policy }) =>
      (JSON.parse(policy) as { Statement: Statement[] }).Statement.map((statement) => ({ ...statement, role: inputs.name })),
    ),
  );

const byName = (one: string, other: string) => one.localeCompare(other);
const capitalized = (name: string) => name.replaceAll(/(?:^|-)(.)/g, (_match, first: string) => first.toUpperCase());
const functionOf = (name: string) => functions().find((resource) => resource.name === `${name}Function`) as Resource;
/** The settings of each queue with a consumer, by the name that its resources begin with. */
const QUEUES: Record<string, Queue> = { Deliveries: deliveries, Syncs: syncs };
const settingsOf = ({ name }: Resource) => Object.entries(QUEUES).find(([prefix]) => name.startsWith(prefix))![1];
const consumersOf = (prefix: string) => functions().filter(({ name }) => name.startsWith(`${prefix}Subscriber`));

test("every group of the manifest has one function with its size, and exactly its routes", () => {
  const expected = Object.entries<ApiGroup>(groups).map(([name, group]) => [
    `Api${capitalized(name)}Function`,
    new Set(group.routes),
  ]);
  expect(routesByFunction()).toEqual(new Map(expected as [string, Set<string>][]));
  expect(all("aws:apigatewayv2/route:Route")).toHaveLength(
    expected.reduce((sum, [, routes]) => sum + (routes as Set<string>).size, 0),
  );
  for (const [name, group] of Object.entries<ApiGroup>(groups))
    expect(functionOf(`Api${capitalized(name)}`).inputs).toMatchObject({
      memorySize: group.memory_mb,
      timeout: group.timeout_seconds,
    });
});

test("no function exists beside the API groups, the streams, the consumers, the scheduler and the migrator", () => {
  const others = functions().filter((resource) => !resource.name.startsWith("Api"));
  expect(others).toHaveLength(3 + Object.keys(QUEUES).length);
  for (const [prefix, { memory_mb, timeout_seconds }] of Object.entries(QUEUES))
    expect(consumersOf(prefix).map(({ inputs }) => [inputs.memorySize, inputs.timeout])).toEqual([[memory_mb, timeout_seconds]]);
  expect(functionOf("Scheduled").inputs).toMatchObject({ memorySize: scheduled.memory_mb, timeout: scheduled.timeout_seconds });
  expect(functionOf("Migrate").inputs).toMatchObject({ memorySize: migrate.memory_mb, timeout: migrate.timeout_seconds });
});

test("every function runs on nodejs24.x and arm64", () => {
  const kinds = new Set(functions().map(({ inputs }) => `${inputs.runtime} ${inputs.architectures}`));
  expect(kinds).toEqual(new Set(["nodejs24.x arm64"]));
});

test("a function's files travel in its archive", () => {
  const archive = (name: string) => readFileSync(path.join(root, ".sst/artifacts", name, "code.zip"), "latin1");
  expect(archive("Migrate")).toContain("migrations/meta/_journal.json");
  for (const [name, group] of Object.entries<ApiGroup>(groups))
    for (const { to } of group.files ?? []) expect(archive(`Api${capitalized(name)}`)).toContain(to);
});

test("a consumer reports the messages that failed, and its queue waits six times its timeout before it tries again", () => {
  const mappings = all("aws:lambda/eventSourceMapping:EventSourceMapping");
  expect(mappings).toHaveLength(Object.keys(QUEUES).length);
  for (const { inputs } of mappings) {
    const { timeout } = one(functions(), inputs.functionName).inputs;
    const { max_concurrency, batch_size } = settingsOf(one(queues(), inputs.eventSourceArn));
    expect([inputs.scalingConfig.maximumConcurrency, inputs.batchSize]).toEqual([max_concurrency, batch_size]);
    expect(inputs.functionResponseTypes).toEqual(["ReportBatchItemFailures"]);
    expect(one(queues(), inputs.eventSourceArn).inputs.visibilityTimeoutSeconds).toBeGreaterThanOrEqual(
      6 * timeout + inputs.maximumBatchingWindowInSeconds,
    );
  }
});

test("a queue with a consumer gives up after a few receives, and what it gave up is kept for longest", () => {
  for (const { inputs } of all("aws:lambda/eventSourceMapping:EventSourceMapping")) {
    const queue = one(queues(), inputs.eventSourceArn);
    const redrive = JSON.parse(queue.inputs.redrivePolicy);
    expect(redrive.maxReceiveCount).toBe(settingsOf(queue).max_receives);
    expect(one(queues(), redrive.deadLetterTargetArn).inputs.messageRetentionSeconds).toBe(14 * 24 * 60 * 60);
  }
});

test("no role may do more than named actions on named resources", () => {
  const statements = allowed();
  expect(statements.length).toBeGreaterThan(0);
  expect(statements.filter(({ actions, resources }) => [...actions, ...resources].some((name) => name.includes("*")))).toEqual(
    [],
  );
});

test("only what enqueues may send, and only to the queues that have consumers", () => {
  const sending = allowed().filter(({ actions }) => actions.includes("sqs:SendMessage"));
  for (const { resources } of sending)
    expect(resources).toEqual(Object.keys(QUEUES).map((prefix) => expect.stringContaining(`${prefix}Queue`)));
  const silent = functions().filter(({ inputs }) => !sending.some(({ role }) => inputs.role.endsWith(role)));
  expect(silent.map(({ name }) => name).toSorted(byName)).toEqual([
    "ApiCustomFieldsFunction",
    "ApiReferenceFunction",
    "MigrateFunction",
    "StreamFunction",
  ]);
});

test("managed policies allow nothing but writing logs", () => {
  const managed = all("aws:iam/role:Role").flatMap(({ inputs }) => inputs.managedPolicyArns ?? []);
  expect(new Set(managed)).toEqual(new Set(["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]));
});

test("every schedule runs the scheduler at its rate, tells it the time, and is retried", () => {
  const rendered = all("aws:scheduler/schedule:Schedule").map(({ inputs }) => {
    expect(one(functions(), inputs.target.arn).name).toBe("ScheduledFunction");
    expect(inputs.target.retryPolicy.maximumRetryAttempts).toBeGreaterThan(0);
    const { schedule, scheduledTime } = JSON.parse(inputs.target.input);
    expect(scheduledTime).toBe("<aws.scheduler.scheduled-time>");
    return [schedule, inputs.scheduleExpression];
  });
  const expected = Object.entries(schedules).map(([name, { every_minutes }]) => [name, `rate(${every_minutes} minutes)`]);
  expect(Object.fromEntries(rendered)).toEqual(Object.fromEntries(expected));
  expect(
    all("aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig").map(({ inputs }) => inputs.maximumRetryAttempts),
  ).toEqual([2]);
});

test("streams leave a function URL piece by piece, for as long as Lambda lets them, and cannot take all concurrency", () => {
  const [url, ...rest] = all("aws:lambda/functionUrl:FunctionUrl");
  expect(rest).toEqual([]);
  const fn = one(functions(), url?.inputs.functionName);
  expect([fn.name, url?.inputs.invokeMode, url?.inputs.authorizationType]).toEqual(["StreamFunction", "RESPONSE_STREAM", "NONE"]);
  // The service answers preflights itself, by its own setting.
  expect(url?.inputs.cors ?? {}).toEqual({});
  expect(fn.inputs).toMatchObject({
    memorySize: stream.memory_mb,
    timeout: stream.timeout_seconds,
    reservedConcurrentExecutions: stream.max_concurrency,
  });
  expect(stream.max_seconds).toBeLessThan(stream.timeout_seconds);
  for (const { inputs } of functions().filter(({ name }) => name.startsWith("Api")))
    expect(inputs.environment.variables.STREAM_URL).toMatch(/^https:/);
});

test("a deployment migrates first: every other function waits for the invocation of the migrator", () => {
  const [migration, ...rest] = all("aws:lambda/invocation:Invocation");
  expect(rest).toEqual([]);
  expect(one(functions(), migration?.inputs.functionName).name).toBe("MigrateFunction");
  expect(Date.parse(migration?.inputs.triggers.deployedAt)).toBeGreaterThan(0);
  const hasty = functions().filter(({ dependencies }) => !dependencies.includes(migration?.urn ?? ""));
  expect(hasty.map(({ name }) => name)).toEqual(["MigrateFunction"]);
});

test("no secret's value is in the graph except as a secret", () => {
  const readable = hidden(sealed).map((resource) => ({ name: resource.name, text: JSON.stringify(resource) }));
  const leaks = SECRETS.flatMap((secret) =>
    readable.filter(({ text }) => text.includes(secretValue(secret))).map(({ name }) => [secret, name]),
  );
  expect(leaks).toEqual([]);
});

test("each function gets the secrets that it needs, and the migrator only the direct connection", () => {
  const variables = ({ inputs }: Resource) => inputs.environment.variables;
  for (const resource of functions().filter(({ name }) => name !== "MigrateFunction"))
    expect(variables(resource)).toMatchObject({
      DATABASE_URL: secretValue("DatabaseUrl"),
      ENCRYPTION_KEY: secretValue("EncryptionKey"),
      TOKEN_PEPPER: secretValue("TokenPepper"),
      LOCAL_AUTH_TOKEN: secretValue("LocalAuthToken"),
      DELIVERIES_QUEUE_URL: expect.stringContaining("DeliveriesQueue"),
      SYNCS_QUEUE_URL: expect.stringContaining("SyncsQueue"),
      BASE_URL: expect.stringMatching(/^https:/),
    });
  const own = Object.entries(variables(functionOf("Migrate"))).filter(([name]) => !name.startsWith("SST_"));
  expect(own).toEqual([["DATABASE_URL", secretValue("DatabaseDirectUrl")]]);
});

test("logs end: every function and the API have a log group with a retention", () => {
  const logGroups = all("aws:cloudwatch/logGroup:LogGroup");
  expect(logGroups).toHaveLength(functions().length + 1);
  for (const { inputs } of logGroups) expect(inputs.retentionInDays).toBeGreaterThan(0);
  for (const { inputs } of functions()) one(logGroups, inputs.loggingConfig.logGroup);
});

test("the API is throttled and its log is on, and preflights reach the service", () => {
  const [stage] = all("aws:apigatewayv2/stage:Stage");
  expect(stage?.inputs.defaultRouteSettings.throttlingRateLimit).toBeGreaterThan(0);
  expect(stage?.inputs.defaultRouteSettings.throttlingBurstLimit).toBeGreaterThan(0);
  expect(stage?.inputs.accessLogSettings.format).toContain("requestId");
  expect(all("aws:apigatewayv2/api:Api").map(({ inputs }) => inputs.corsConfiguration)).toEqual([{}]);
});

test("the public door cannot take the whole account's concurrency", () => {
  expect(functionOf("ApiIngest").inputs.reservedConcurrentExecutions).toBe(groups.ingest.max_concurrency);
});

test("dead letters, late deliveries and failing schedules raise an alarm that reaches somebody", () => {
  const alarms = all("aws:cloudwatch/metricAlarm:MetricAlarm");
  const [topic] = all("aws:sns/topic:Topic");
  expect(new Set(alarms.map(({ inputs }) => inputs.metricName))).toEqual(
    new Set(["ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage", "Errors"]),
  );
  for (const { inputs } of alarms) for (const action of inputs.alarmActions) expect(action).toContain(topic?.name);
  expect(all("aws:sns/topicSubscription:TopicSubscription").map(({ inputs }) => inputs.endpoint)).toEqual(["alarms@example.com"]);
});
