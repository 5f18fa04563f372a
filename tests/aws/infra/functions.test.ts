/** Each function of the manifest must be deployed once, with its routes, size and logs. */
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  type ApiGroup,
  groups,
  migrate,
  scheduleRunner,
  stream,
  deliveries,
  outbound,
  probes,
  syncs,
  webhookRoutes,
} from "@board/functions/manifest";
import { expect, test } from "vitest";
import { root } from "../../support/bundle.ts";
import { capitalized, findResource, graphOf, sorted } from "./graph.ts";
import { folderOf } from "./variants.ts";

const graph = graphOf("production");
const apiGroups = Object.entries<ApiGroup>(groups).map(([name, group]) => ({ name: `Api${capitalized(name)}`, group }));

/** The maximum time that API Gateway waits for a function. */
const API_GATEWAY_SECONDS = 30;

test("every group of the manifest has exactly its routes, and no route leads to two functions", () => {
  const integrations = graph.all("aws:apigatewayv2/integration:Integration");
  const reached = graph.all("aws:apigatewayv2/route:Route").map(({ inputs }) => ({
    route: inputs.routeKey as string,
    name: findResource(graph.functions(), findResource(integrations, inputs.target).inputs.integrationUri).name,
  }));
  const declared = apiGroups.flatMap(({ name, group }) => group.routes.map((route) => ({ route, name: `${name}Function` })));
  const lines = (list: typeof reached) => sorted(list.map(({ route, name }) => `${route} -> ${name}`));
  expect(lines(reached)).toEqual(lines(declared));
  // For API Gateway, routes that differ only in the names of their variables are the same.
  const shapes = reached.map(({ route }) => route.replaceAll(/\{\w+\}/g, "{}"));
  expect(shapes.filter((shape, index) => shapes.indexOf(shape) !== index)).toEqual([]);
});

test("every function has the size given in the manifest, and there are no other functions", () => {
  const sizes = graph.functions().map(({ name, inputs }) => [name, inputs.memorySize, inputs.timeout]);
  const consumer = (queue: string) => graph.consumersOf(queue).map(({ name }) => name)[0];
  const expected = [
    ...apiGroups.map(({ name, group }) => ({ ...group, name: `${name}Function` })),
    { ...stream, name: "StreamFunction" },
    { ...scheduleRunner, name: "ScheduledFunction" },
    { ...migrate, name: "MigrateFunction" },
    { ...deliveries, name: consumer("Deliveries") },
    { ...syncs, name: consumer("Syncs") },
    { ...probes, name: consumer("Probes") },
    { ...outbound, name: consumer("Outbound") },
  ].map(({ name, memory_mb, timeout_seconds }) => [name, memory_mb, timeout_seconds]);
  expect(new Set(sizes.map(String))).toEqual(new Set(expected.map(String)));
  expect(sizes).toHaveLength(expected.length);
});

test("a function behind API Gateway times out before API Gateway does", () => {
  expect(apiGroups.filter(({ group }) => group.timeout_seconds >= API_GATEWAY_SECONDS)).toEqual([]);
});

test("every function runs on nodejs24.x and arm64", () => {
  const kinds = new Set(graph.functions().map(({ inputs }) => `${inputs.runtime} ${inputs.architectures}`));
  expect(kinds).toEqual(new Set(["nodejs24.x arm64"]));
});

test("a function's archive contains its files", () => {
  const archive = (name: string) =>
    readFileSync(path.join(root, folderOf("production"), "artifacts", name, "code.zip"), "latin1");
  expect(archive("Migrate")).toContain("migrations/meta/_journal.json");
  for (const { name, group } of apiGroups) for (const { to } of group.files ?? []) expect(archive(name)).toContain(to);
});

test("the stream function has a streaming URL, the longest timeout and limited concurrency", () => {
  const [url, ...rest] = graph.all("aws:lambda/functionUrl:FunctionUrl");
  expect(rest).toEqual([]);
  const fn = findResource(graph.functions(), url?.inputs.functionName);
  expect([fn.name, url?.inputs.invokeMode, url?.inputs.authorizationType]).toEqual(["StreamFunction", "RESPONSE_STREAM", "NONE"]);
  // The service answers preflights itself, according to CORS_ORIGINS.
  expect(url?.inputs.cors ?? {}).toEqual({});
  expect(fn.inputs.reservedConcurrentExecutions).toBe(stream.max_concurrency);
  expect(stream.max_seconds).toBeLessThan(stream.timeout_seconds);
  expect(graph.variablesOf(fn)["DATABASE_CONNECTIONS"]).toBe("1");
  for (const { name } of apiGroups) expect(graph.variablesOf(graph.functionOf(name))["STREAM_URL"]).toMatch(/^https:/);
});

test("the public webhook function cannot use the whole concurrency of the account", () => {
  expect(graph.functionOf("ApiIngest").inputs.reservedConcurrentExecutions).toBe(groups.ingest.max_concurrency);
});

test("the API has throttling and an access log, and passes preflights to the service", () => {
  const [stage] = graph.all("aws:apigatewayv2/stage:Stage");
  expect(stage?.inputs.defaultRouteSettings.throttlingRateLimit).toBeGreaterThan(0);
  expect(stage?.inputs.defaultRouteSettings.throttlingBurstLimit).toBeGreaterThan(0);
  expect(stage?.inputs.accessLogSettings.format).toContain("requestId");
  // Even an empty configuration makes API Gateway answer preflights and remove the service's CORS headers.
  for (const { inputs } of graph.all("aws:apigatewayv2/api:Api")) expect(inputs).not.toHaveProperty("corsConfiguration");
});

test("the routes of public webhooks have a lower throttle, which is set once the routes exist", () => {
  const [stage] = graph.all("aws:apigatewayv2/stage:Stage");
  const settings = stage?.inputs.routeSettings as {
    routeKey: string;
    throttlingRateLimit: number;
    throttlingBurstLimit: number;
  }[];
  expect(settings.map(({ routeKey }) => routeKey)).toEqual([...webhookRoutes]);
  for (const { throttlingRateLimit, throttlingBurstLimit } of settings) {
    expect(throttlingRateLimit).toBeGreaterThan(0);
    expect(throttlingRateLimit).toBeLessThan(stage?.inputs.defaultRouteSettings.throttlingRateLimit);
    expect(throttlingBurstLimit).toBeLessThan(stage?.inputs.defaultRouteSettings.throttlingBurstLimit);
  }
  const routes = graph.all("aws:apigatewayv2/route:Route").filter(({ inputs }) => webhookRoutes.includes(inputs.routeKey));
  expect(routes).toHaveLength(webhookRoutes.length);
  for (const { urn } of routes) expect(stage?.dependencies).toContain(urn);
});

test("every function logs JSON without Lambda's lines about each invocation, and with all lines of the service", () => {
  for (const { inputs } of graph.functions())
    expect(inputs.loggingConfig).toMatchObject({ logFormat: "JSON", systemLogLevel: "WARN", applicationLogLevel: "TRACE" });
});

test("every function and the API have a separate log group with a retention", () => {
  const logGroups = graph.all("aws:cloudwatch/logGroup:LogGroup");
  const used = graph.functions().map(({ inputs }) => findResource(logGroups, inputs.loggingConfig.logGroup).name);
  expect(new Set(used).size).toBe(graph.functions().length);
  expect(logGroups).toHaveLength(used.length + 1);
  for (const { inputs } of logGroups) expect(inputs.retentionInDays).toBe(90);
});

test("every function except the one that migrates is deployed after the migration has run", () => {
  const [migration, ...rest] = graph.all("aws:lambda/invocation:Invocation");
  expect(rest).toEqual([]);
  expect(findResource(graph.functions(), migration?.inputs.functionName).name).toBe("MigrateFunction");
  expect(Date.parse(migration?.inputs.triggers.deployedAt)).toBeGreaterThan(0);
  const hasty = graph.functions().filter(({ dependencies }) => !dependencies.includes(migration?.urn ?? ""));
  expect(hasty.map(({ name }) => name)).toEqual(["MigrateFunction"]);
});
