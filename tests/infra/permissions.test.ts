/** Who may do what, and who knows what. */
import { type ApiGroup, groups } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { capitalized, graphOf, one, sorted } from "./graph.ts";
import { secretValue, variants } from "./variants.ts";

const graph = graphOf("production");
const { secrets } = variants.production;

const consumer = (queue: string) => graph.consumersOf(queue).map(({ name }) => name)[0] as string;
const allowedTo = (action: string) => graph.allowed().filter(({ actions }) => actions.includes(action));

test("no role may do more than named actions on named resources", () => {
  const statements = graph.allowed();
  expect(statements.length).toBeGreaterThan(graph.functions().length);
  expect(statements.filter(({ actions, resources }) => [...actions, ...resources].some((name) => name.includes("*")))).toEqual(
    [],
  );
});

test("managed policies allow nothing but writing logs", () => {
  const managed = graph.all("aws:iam/role:Role").flatMap(({ inputs }) => inputs.managedPolicyArns ?? []);
  expect(new Set(managed)).toEqual(new Set(["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]));
});

test("a role is taken by Lambda or by the scheduler, and by nobody else", () => {
  const trusted = graph.all("aws:iam/role:Role").map(({ inputs }) => JSON.stringify(inputs.assumeRolePolicy));
  const services = trusted.flatMap((policy) => policy.match(/\w+\.amazonaws\.com/g) ?? []);
  expect(new Set(services)).toEqual(new Set(["lambda.amazonaws.com", "scheduler.amazonaws.com"]));
  expect(services).toHaveLength(trusted.length);
  expect(trusted.filter((policy) => policy.includes("*") || policy.includes("arn:"))).toEqual([]);
});

test("only what enqueues may send, and only to the queues that have consumers", () => {
  const enqueuing = allowedTo("sqs:SendMessage").filter(({ resources }) => resources.length > 1);
  for (const { resources } of enqueuing)
    expect(resources.map((arn) => one(graph.queues(), arn).name)).toEqual(["DeliveriesQueue", "SyncsQueue"]);
  const silent = Object.entries<ApiGroup>(groups).flatMap(([name, { enqueues }]) =>
    enqueues === false ? [`Api${capitalized(name)}Function`] : [],
  );
  const others = graph
    .functions()
    .map(({ name }) => name)
    .filter((name) => !graph.functionsWith(enqueuing).includes(name));
  expect(sorted(others)).toEqual(sorted([...silent, "MigrateFunction", "StreamFunction"]));
});

test("only schedules and what they run may leave dead letters, and only the schedules' own", () => {
  const leaving = allowedTo("sqs:SendMessage").filter(({ resources }) => resources.length === 1);
  for (const { resources } of leaving)
    expect(resources.map((arn) => one(graph.queues(), arn).name)).toEqual(["ScheduleDeadLettersQueue"]);
  expect(graph.functionsWith(leaving)).toEqual(["ScheduledFunction"]);
  const schedules = graph.all("aws:scheduler/schedule:Schedule");
  expect(leaving).toHaveLength(schedules.length + 1);
  for (const { inputs } of schedules) expect(leaving.some(({ role }) => inputs.target.roleArn.endsWith(role))).toBe(true);
});

test("a schedule may invoke the scheduler and nothing else", () => {
  const invoking = allowedTo("lambda:InvokeFunction");
  expect(invoking).toHaveLength(graph.all("aws:scheduler/schedule:Schedule").length);
  for (const { resources } of invoking)
    expect(resources.map((arn) => one(graph.functions(), arn).name)).toEqual(["ScheduledFunction"]);
});

test("the deliveries' consumer alone publishes, on the one bus, and all that run the domain know its name", () => {
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

test("nothing is allowed beside sending, receiving, invoking and publishing", () => {
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

test("from outside, functions are invoked by the API's own routes, and the streams by everybody", () => {
  const permissions = graph.all("aws:lambda/permission:Permission").map(({ inputs }) => inputs);
  const [api] = graph.all("aws:apigatewayv2/api:Api");
  const byRoutes = permissions.filter(({ principal }) => principal === "apigateway.amazonaws.com");
  for (const { sourceArn } of byRoutes) expect(sourceArn).toContain(`:${api?.inputs.name}/`);
  const others = permissions.filter((permission) => !byRoutes.includes(permission));
  expect(others.length).toBeGreaterThan(0);
  // A function URL that asks for no signature must be open to all; the service asks for credentials itself.
  for (const { principal, function: of, action, invokedViaFunctionUrl } of others) {
    expect([principal, one(graph.functions(), of).name]).toEqual(["*", "StreamFunction"]);
    expect(action === "lambda:InvokeFunctionUrl" || invokedViaFunctionUrl).toBe(true);
  }
});

test("no secret's value is in the graph except as a secret", () => {
  const texts = graph.readable.map((resource) => ({ name: resource.name, text: JSON.stringify(resource) }));
  const leaks = secrets.flatMap((secret) =>
    texts.filter(({ text }) => text.includes(secretValue(secret))).map(({ name }) => [secret, name]),
  );
  expect(leaks).toEqual([]);
});

test("each function gets the secrets that it needs, and the migrator only the direct connection", () => {
  for (const fn of graph.functions().filter(({ name }) => name !== "MigrateFunction")) {
    const variables = graph.variablesOf(fn);
    expect(variables).toMatchObject({
      DATABASE_URL: secretValue("DatabaseUrl"),
      ENCRYPTION_KEY: secretValue("EncryptionKey"),
      TOKEN_PEPPER: secretValue("TokenPepper"),
      LOCAL_AUTH_TOKEN: secretValue("LocalAuthToken"),
      DELIVERIES_QUEUE_URL: expect.stringContaining("DeliveriesQueue"),
      SYNCS_QUEUE_URL: expect.stringContaining("SyncsQueue"),
      BASE_URL: expect.stringMatching(/^https:/),
      STAGE: "production",
    });
    expect(Object.values(variables)).not.toContain(secretValue("DatabaseDirectUrl"));
  }
  const own = Object.entries(graph.variablesOf(graph.functionOf("Migrate"))).filter(([name]) => !name.startsWith("SST_"));
  expect(own).toEqual([["DATABASE_URL", secretValue("DatabaseDirectUrl")]]);
});
