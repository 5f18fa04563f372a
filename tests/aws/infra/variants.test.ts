/** How settings and stages change a deployment. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "../../support/bundle.ts";
import { graphOf, sorted } from "./graph.ts";
import { secretValue } from "./variants.ts";

const production = graphOf("production");
const running = (graph: typeof production) => graph.functions().filter(({ name }) => name !== "MigrateFunction");

test("every resource of a deployment has the tags app and stage", () => {
  for (const [graph, stage] of [
    [production, "production"],
    [graphOf("staging"), "staging"],
  ] as const)
    expect(graph.app).toMatchObject({ providers: { aws: { defaultTags: { tags: { app: "board-coordination", stage } } } } });
});

test("production is protected and retains resources that others depend on, and other stages are removed completely", () => {
  const staging = graphOf("staging");
  expect(production.app).toMatchObject({ protect: true, removal: "retain" });
  expect(staging.app).toMatchObject({ protect: false, removal: "remove" });
  const retainedTypes = (graph: typeof production) => graph.resources.filter(({ retained }) => retained).map(({ type }) => type);
  expect(retainedTypes(production)).toContain("aws:cloudwatch/eventBus:EventBus");
  expect(retainedTypes(staging)).not.toContain("aws:cloudwatch/eventBus:EventBus");
});

test("a stage other than production has no reserved concurrency, a lower throttle and logs for a week", () => {
  const staging = graphOf("staging");
  const capped = staging.functions().filter(({ inputs }) => (inputs.reservedConcurrentExecutions ?? -1) >= 0);
  expect(capped).toEqual([]);
  expect(staging.alarms().filter(({ inputs }) => inputs.metricName === "ConcurrentExecutions")).toEqual([]);
  for (const { inputs } of staging.all("aws:cloudwatch/logGroup:LogGroup")) expect(inputs.retentionInDays).toBe(7);
  const rate = (graph: typeof production) =>
    graph.all("aws:apigatewayv2/stage:Stage")[0]?.inputs.defaultRouteSettings.throttlingRateLimit;
  expect(rate(staging)).toBeLessThan(rate(production));
  expect(staging.functions()).toHaveLength(production.functions().length);
});

test("API_REQUESTS_PER_SECOND sets the throttle, with half for each route of public webhooks", () => {
  const [stage] = graphOf("staging").all("aws:apigatewayv2/stage:Stage");
  expect(stage?.inputs.defaultRouteSettings).toMatchObject({ throttlingRateLimit: 80, throttlingBurstLimit: 160 });
  for (const route of stage?.inputs.routeSettings ?? [])
    expect(route).toMatchObject({ throttlingRateLimit: 40, throttlingBurstLimit: 80 });
});

test("without ALARM_EMAIL, alarms only go to their topic", () => {
  const staging = graphOf("staging");
  expect(staging.all("aws:sns/topicSubscription:TopicSubscription")).toEqual([]);
  for (const { inputs } of staging.alarms()) expect(inputs.alarmActions).toHaveLength(1);
});

test("SCHEDULE_MINUTES slows down more frequent schedules and their alarm", () => {
  const expressions = new Set(
    graphOf("staging")
      .all("aws:scheduler/schedule:Schedule")
      .map(({ inputs }) => inputs.scheduleExpression),
  );
  expect(expressions).toEqual(new Set(["cron(0/30 * * * ? *)", "cron(0 * * * ? *)"]));
  const alarmNamed = (wanted: string) =>
    graphOf("staging")
      .alarms()
      .find(({ name }) => name === wanted);
  expect(alarmNamed("JobsWait")?.inputs.period).toBe(30 * 60);
  expect(alarmNamed("JobsWait")?.inputs.threshold).toBeGreaterThan(30 * 60);
  expect(alarmNamed("SchedulesStopped")?.inputs.period).toBe(30 * 60);
});

test("ACCOUNT_CONCURRENCY sets the limit that the alarm on the account's concurrency watches", () => {
  const [alarm] = graphOf("staging")
    .alarms()
    .filter(({ name }) => name === "AccountConcurrencyHigh");
  expect(alarm?.inputs.threshold).toBe(8);
});

test("a custom domain gets a validated certificate and DNS records, and becomes BASE_URL", () => {
  const graph = graphOf("domain");
  expect(graph.all("aws:acm/certificateValidation:CertificateValidation")).toHaveLength(1);
  const [domain] = graph.all("aws:apigatewayv2/domainName:DomainName");
  expect(domain?.inputs).toMatchObject({
    domainName: "board.example.com",
    domainNameConfiguration: { certificateArn: expect.stringContaining(":certificate/"), securityPolicy: "TLS_1_2" },
  });
  expect(graph.all("aws:apigatewayv2/apiMapping:ApiMapping").map(({ inputs }) => inputs.domainName)).toEqual([domain?.name]);
  const records = graph.all("aws:route53/record:Record").map(({ inputs }) => `${inputs.type} ${inputs.name}`);
  expect(sorted(records)).toEqual(["A board.example.com", "AAAA board.example.com", "CNAME _check.board.example.com."]);
  for (const fn of running(graph)) expect(graph.variablesOf(fn)["BASE_URL"]).toBe("https://board.example.com");
});

test("with external DNS the given certificate is used and no DNS record is created", () => {
  const graph = graphOf("domain-elsewhere");
  expect(graph.all("aws:route53/record:Record")).toEqual([]);
  expect(graph.all("aws:acm/certificate:Certificate")).toEqual([]);
  const [domain] = graph.all("aws:apigatewayv2/domainName:DomainName");
  expect(domain?.inputs.domainNameConfiguration.certificateArn).toBe("arn:aws:acm:us-east-1:123456789012:certificate/own");
  for (const fn of running(graph)) expect(graph.variablesOf(fn)["BASE_URL"]).toBe("https://board.example.org");
});

test("without a custom domain no domain resource is created", () => {
  const ofDomains = /apigatewayv2\/(domainName|apiMapping)|route53|acm/;
  expect(production.resources.filter(({ type }) => ofDomains.test(type))).toEqual([]);
});

test("with board events off, no function gets the name of the bus or may publish to it, and the bus stays for existing rules", () => {
  const graph = graphOf("domain-elsewhere");
  expect(graph.allowed().filter(({ actions }) => actions.includes("events:PutEvents"))).toEqual([]);
  for (const fn of running(graph)) {
    expect(graph.variablesOf(fn)).not.toHaveProperty("EVENT_BUS_NAME");
    expect(graph.variablesOf(fn)["BOARD_EVENTS"]).toBe("off");
  }
  expect(graph.all("aws:cloudwatch/eventBus:EventBus")).toHaveLength(1);
});

test("with an identity provider no shared token exists or is required", () => {
  const graph = graphOf("oidc");
  for (const fn of running(graph)) {
    expect(graph.variablesOf(fn)).not.toHaveProperty("LOCAL_AUTH_TOKEN");
    expect(graph.variablesOf(fn)).toMatchObject({ AUTH_MODE: "oidc", OIDC_ISSUER: "https://id.example/" });
  }
  expect(graph.resources.filter(({ name }) => name === "LocalAuthToken")).toEqual([]);
});

test("with accounts each function gets the secrets of the services at which people sign in, and of the mail server", () => {
  const graph = graphOf("accounts");
  for (const fn of running(graph))
    expect(graph.variablesOf(fn)).toMatchObject({
      AUTH_MODE: "accounts",
      GITHUB_CLIENT_SECRET: secretValue("GithubClientSecret"),
      SMTP_URL: secretValue("SmtpUrl"),
    });
  expect(graph.resources.filter(({ name }) => /^(?:LocalAuthToken|GoogleClientSecret)$/.test(name))).toEqual([]);
});

test("docs/deploying.md states how many functions and alarms a deployment creates", () => {
  const text = readFileSync(path.join(root, "docs/deploying.md"), "utf8").replaceAll(/\s+/g, " ");
  const functions = production.functions();
  const behindApi = functions.filter(({ name }) => name.startsWith("Api"));
  expect(text).toContain(`${functions.length} Lambda functions (${behindApi.length} behind an HTTP API,`);
  expect(text).toContain(`an alarm topic with ${production.alarms().length} alarms`);
  expect(text).toContain(`| \`${functions.length}\` | the deployment was interrupted`);
});
