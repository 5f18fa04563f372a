/** What runs: every function of the manifest, once, with its routes, its size and its logs. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { type ApiGroup, groups, migrate, scheduled, stream, deliveries, syncs } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { root } from "../support/bundle.ts";
import { capitalized, graphOf, one, sorted } from "./graph.ts";
import { folderOf } from "./variants.ts";

const graph = graphOf("production");
const apiGroups = Object.entries<ApiGroup>(groups).map(([name, group]) => ({ name: `Api${capitalized(name)}`, group }));

/** Longest that API Gateway waits for a function. */
const API_GATEWAY_SECONDS = 30;

test("every group of the manifest is reached by exactly its routes, and no route leads to two functions", () => {
  const integrations = graph.all("aws:apigatewayv2/integration:Integration");
  const reached = graph.all("aws:apigatewayv2/route:Route").map(({ inputs }) => ({
    route: inputs.routeKey as string,
    name: one(graph.functions(), one(integrations, inputs.target).inputs.integrationUri).name,
  }));
  const declared = apiGroups.flatMap(({ name, group }) => group.routes.map((route) => ({ route, name: `${name}Function` })));
  const lines = (list: typeof reached) => sorted(list.map(({ route, name }) => `${route} -> ${name}`));
  expect(lines(reached)).toEqual(lines(declared));
  // API Gateway takes two routes for the same one when they differ only in the names of their variables.
  const shapes = reached.map(({ route }) => route.replaceAll(/\{\w+\}/g, "{}"));
  expect(shapes.filter((shape, index) => shapes.indexOf(shape) !== index)).toEqual([]);
});

test("every function has the size that the manifest says, and none exists beside the manifest's", () => {
  const sizes = graph.functions().map(({ name, inputs }) => [name, inputs.memorySize, inputs.timeout]);
  const consumer = (queue: string) => graph.consumersOf(queue).map(({ name }) => name)[0];
  const expected = [
    ...apiGroups.map(({ name, group }) => ({ ...group, name: `${name}Function` })),
    { ...stream, name: "StreamFunction" },
    { ...scheduled, name: "ScheduledFunction" },
    { ...migrate, name: "MigrateFunction" },
    { ...deliveries, name: consumer("Deliveries") },
    { ...syncs, name: consumer("Syncs") },
  ].map(({ name, memory_mb, timeout_seconds }) => [name, memory_mb, timeout_seconds]);
  expect(new Set(sizes.map(String))).toEqual(new Set(expected.map(String)));
  expect(sizes).toHaveLength(expected.length);
});

test("a function behind API Gateway ends before API Gateway stops waiting for it", () => {
  expect(apiGroups.filter(({ group }) => group.timeout_seconds >= API_GATEWAY_SECONDS)).toEqual([]);
});

test("every function runs on nodejs24.x and arm64", () => {
  const kinds = new Set(graph.functions().map(({ inputs }) => `${inputs.runtime} ${inputs.architectures}`));
  expect(kinds).toEqual(new Set(["nodejs24.x arm64"]));
});

test("a function's files travel in its archive", () => {
  const archive = (name: string) =>
    readFileSync(path.join(root, folderOf("production"), "artifacts", name, "code.zip"), "latin1");
  expect(archive("Migrate")).toContain("migrations/meta/_journal.json");
  for (const { name, group } of apiGroups) for (const { to } of group.files ?? []) expect(archive(name)).toContain(to);
});

test("streams leave a function URL piece by piece, for as long as Lambda lets them, and cannot take all concurrency", () => {
  const [url, ...rest] = graph.all("aws:lambda/functionUrl:FunctionUrl");
  expect(rest).toEqual([]);
  const fn = one(graph.functions(), url?.inputs.functionName);
  expect([fn.name, url?.inputs.invokeMode, url?.inputs.authorizationType]).toEqual(["StreamFunction", "RESPONSE_STREAM", "NONE"]);
  // The service answers preflights itself, by its own setting.
  expect(url?.inputs.cors ?? {}).toEqual({});
  expect(fn.inputs.reservedConcurrentExecutions).toBe(stream.max_concurrency);
  expect(stream.max_seconds).toBeLessThan(stream.timeout_seconds);
  for (const { name } of apiGroups) expect(graph.variablesOf(graph.functionOf(name))["STREAM_URL"]).toMatch(/^https:/);
});

test("the public door cannot take the whole account's concurrency", () => {
  expect(graph.functionOf("ApiIngest").inputs.reservedConcurrentExecutions).toBe(groups.ingest.max_concurrency);
});

test("the API is throttled and its log is on, and preflights reach the service", () => {
  const [stage] = graph.all("aws:apigatewayv2/stage:Stage");
  expect(stage?.inputs.defaultRouteSettings.throttlingRateLimit).toBeGreaterThan(0);
  expect(stage?.inputs.defaultRouteSettings.throttlingBurstLimit).toBeGreaterThan(0);
  expect(stage?.inputs.accessLogSettings.format).toContain("requestId");
  expect(graph.all("aws:apigatewayv2/api:Api").map(({ inputs }) => inputs.corsConfiguration)).toEqual([{}]);
});

test("logs end: every function and the API have a log group of their own, with a retention", () => {
  const logGroups = graph.all("aws:cloudwatch/logGroup:LogGroup");
  const used = graph.functions().map(({ inputs }) => one(logGroups, inputs.loggingConfig.logGroup).name);
  expect(new Set(used).size).toBe(graph.functions().length);
  expect(logGroups).toHaveLength(used.length + 1);
  for (const { inputs } of logGroups) expect(inputs.retentionInDays).toBe(90);
});

test("a deployment migrates first: every other function waits for the invocation of the migrator", () => {
  const [migration, ...rest] = graph.all("aws:lambda/invocation:Invocation");
  expect(rest).toEqual([]);
  expect(one(graph.functions(), migration?.inputs.functionName).name).toBe("MigrateFunction");
  expect(Date.parse(migration?.inputs.triggers.deployedAt)).toBeGreaterThan(0);
  const hasty = graph.functions().filter(({ dependencies }) => !dependencies.includes(migration?.urn ?? ""));
  expect(hasty.map(({ name }) => name)).toEqual(["MigrateFunction"]);
});
