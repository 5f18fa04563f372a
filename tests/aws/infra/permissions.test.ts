/** Permissions of roles, and which function gets which secret. */
import { type ApiGroup, groups } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { capitalized, findResource, graphOf, sorted } from "./graph.ts";
import { secretValue, variants } from "./variants.ts";

const graph = graphOf("production");
const { secrets } = variants.production;

const consumer = (queue: string) => graph.consumersOf(queue).map(({ name }) => name)[0] as string;
const allowedTo = (action: string) => graph.allowed().filter(({ actions }) => actions.includes(action));

test("every statement of a role names its actions and its resources", () => {
  const statements = graph.allowed();
  expect(statements.length).toBeGreaterThan(graph.functions().length);
  expect(statements.filter(({ actions, resources }) => [...actions, ...resources].some((name) => name.includes("*")))).toEqual(
    [],
  );
});

test("managed policies only allow writing logs", () => {
  const managed = graph.all("aws:iam/role:Role").flatMap(({ inputs }) => inputs.managedPolicyArns ?? []);
  expect(new Set(managed)).toEqual(new Set(["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]));
});

test("only Lambda or the scheduler can assume a role", () => {
  const trusted = graph.all("aws:iam/role:Role").map(({ inputs }) => JSON.stringify(inputs.assumeRolePolicy));
  const services = trusted.flatMap((policy) => policy.match(/\w+\.amazonaws\.com/g) ?? []);
  expect(new Set(services)).toEqual(new Set(["lambda.amazonaws.com", "scheduler.amazonaws.com"]));
  expect(services).toHaveLength(trusted.length);
  expect(trusted.filter((policy) => policy.includes("*") || policy.includes("arn:"))).toEqual([]);
});

test("only functions that enqueue jobs may send, and only to the queues with consumers", () => {
  const enqueuing = allowedTo("sqs:SendMessage").filter(({ resources }) => resources.length > 1);
  for (const { resources } of enqueuing)
    expect(resources.map((arn) => findResource(graph.queues(), arn).name)).toEqual([
      "DeliveriesQueue",
      "SyncsQueue",
      "ProbesQueue",
      "OutboundQueue",
    ]);
  const silent = Object.entries<ApiGroup>(groups).flatMap(([name, { enqueues }]) =>
    enqueues === false ? [`Api${capitalized(name)}Function`] : [],
  );
  const others = graph
    .functions()
    .map(({ name }) => name)
    .filter((name) => !graph.functionsWith(enqueuing).includes(name));
  expect(sorted(others)).toEqual(sorted([...silent, "MigrateFunction", "StreamFunction"]));
});

test("only schedules and the scheduler function may send dead letters, and only to the schedules' queue", () => {
  const leaving = allowedTo("sqs:SendMessage").filter(({ resources }) => resources.length === 1);
  for (const { resources } of leaving)
    expect(resources.map((arn) => findResource(graph.queues(), arn).name)).toEqual(["ScheduleDeadLettersQueue"]);
  expect(graph.functionsWith(leaving)).toEqual(["ScheduledFunction"]);
  const schedules = graph.all("aws:scheduler/schedule:Schedule");
  expect(leaving).toHaveLength(schedules.length + 1);
  for (const { inputs } of schedules) expect(leaving.some(({ role }) => inputs.target.roleArn.endsWith(role))).toBe(true);
});

test("a schedule may only invoke the scheduler function", () => {
  const invoking = allowedTo("lambda:InvokeFunction");
  expect(invoking).toHaveLength(graph.all("aws:scheduler/schedule:Schedule").length);
  for (const { resources } of invoking)
    expect(resources.map((arn) => findResource(graph.functions(), arn).name)).toEqual(["ScheduledFunction"]);
});

test("only the deliveries consumer may publish to the bus, and every function of the domain gets the name of the bus", () => {
  const [bus, ...rest] = graph.all("aws:cloudwatch/eventBus:EventBus");
  expect([bus?.inputs.name, rest]).toEqual(["board-coordination-production", []]);
  const publishing = allowedTo("events:PutEvents");
  expect(publishing.map(({ resources }) => resources)).toEqual([
    ["arn:aws:events:us-east-1:123456789012:event-bus/board-coordination-production"],
  ]);
  expect(graph.functionsWith(publishing)).toEqual([consumer("Deliveries")]);
  for (const fn of graph.functions().filter(({ name }) => name !== "MigrateFunction"))
    expect(graph.variablesOf(fn)["EVENT_BUS_NAME"]).toBe(bus?.inputs.name);
});

test("roles may only send, receive, invoke and publish", () => {
  expect(new Set(graph.allowed().flatMap(({ actions }) => actions))).toEqual(
    new Set([
      "events:PutEvents",
      "lambda:InvokeFunction",
      "sqs:ChangeMessageVisibility",
      "sqs:DeleteMessage",
      "sqs:GetQueueAttributes",
      "sqs:GetQueueUrl",
      "sqs:ReceiveMessage",
      "sqs:SendMessage",
    ]),
  );
});

test("functions can be invoked only by the API's routes, and the stream function by everybody", () => {
  const permissions = graph.all("aws:lambda/permission:Permission").map(({ inputs }) => inputs);
  const [api] = graph.all("aws:apigatewayv2/api:Api");
  const byRoutes = permissions.filter(({ principal }) => principal === "apigateway.amazonaws.com");
  for (const { sourceArn } of byRoutes) expect(sourceArn).toContain(`:${api?.inputs.name}/`);
  const others = permissions.filter((permission) => !byRoutes.includes(permission));
  expect(others.length).toBeGreaterThan(0);
  // A function URL without IAM authorization is public; the service checks credentials itself.
  for (const { principal, function: of, action, invokedViaFunctionUrl } of others) {
    expect([principal, findResource(graph.functions(), of).name]).toEqual(["*", "StreamFunction"]);
    expect(action === "lambda:InvokeFunctionUrl" || invokedViaFunctionUrl).toBe(true);
  }
});

test("the value of a secret appears in the graph only as a secret", () => {
  const texts = graph.readable.map((resource) => ({ name: resource.name, text: JSON.stringify(resource) }));
  const leaks = secrets.flatMap((secret) =>
    texts.filter(({ text }) => text.includes(secretValue(secret))).map(({ name }) => [secret, name]),
  );
  expect(leaks).toEqual([]);
});

test("each function gets only the secrets that it needs, and the migrator only the direct connection", () => {
  for (const fn of graph.functions().filter(({ name }) => name !== "MigrateFunction")) {
    const variables = graph.variablesOf(fn);
    expect(variables).toMatchObject({
      DATABASE_URL: secretValue("DatabaseUrl"),
      ENCRYPTION_KEY: secretValue("EncryptionKey"),
      TOKEN_PEPPER: secretValue("TokenPepper"),
      LOCAL_AUTH_TOKEN: secretValue("LocalAuthToken"),
      QUEUE_URLS: expect.stringMatching(
        /^deliveries=[^,]*DeliveriesQueue[^,]*,syncs=[^,]*SyncsQueue[^,]*,probes=[^,]*ProbesQueue[^,]*,outbound=[^,]*OutboundQueue[^,]*$/,
      ),
      BASE_URL: expect.stringMatching(/^https:/),
      STAGE: "production",
    });
    expect(Object.values(variables)).not.toContain(secretValue("DatabaseDirectUrl"));
  }
  const migratorVariables = Object.entries(graph.variablesOf(graph.functionOf("Migrate"))).filter(
    ([name]) => !name.startsWith("SST_"),
  );
  expect(migratorVariables).toEqual([["DATABASE_URL", secretValue("DatabaseDirectUrl")]]);
});
