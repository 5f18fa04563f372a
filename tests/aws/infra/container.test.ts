/** Streams from a container instead of a function, with STREAM_DOMAIN. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { streamContainer } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { root } from "../../support/bundle.ts";
import { graphOf, sorted } from "./graph.ts";
import { secretValue, variants } from "./variants.ts";

const graph = graphOf("container");
const only = (type: string) => {
  const [resource, ...rest] = graph.all(type);
  expect([resource?.type, rest]).toEqual([type, []]);
  return resource!;
};

interface Container {
  environment: { name: string; value: string }[];
  logConfiguration: { options: Record<string, string> };
}
const [container] = JSON.parse(only("aws:ecs/taskDefinition:TaskDefinition").inputs.containerDefinitions) as Container[];
const variables = Object.fromEntries(container!.environment.map(({ name, value }) => [name, value]));

test("with STREAM_DOMAIN one container of the size in the manifest serves streams, and no function does", () => {
  expect(graph.functionOf("Stream")).toBeUndefined();
  expect(graph.all("aws:lambda/functionUrl:FunctionUrl")).toEqual([]);
  const { inputs } = only("aws:ecs/taskDefinition:TaskDefinition");
  const [cpu, memory] = [streamContainer.cpu, streamContainer.memory].map((size) => String(1024 * Number.parseInt(size, 10)));
  expect(inputs).toMatchObject({ cpu, memory, runtimePlatform: { cpuArchitecture: "ARM64" } });
  expect(only("aws:ecs/service:Service").inputs).toMatchObject({ desiredCount: 1, enableExecuteCommand: false });
  expect(graph.all("aws:appautoscaling/policy:Policy")).toEqual([]);
  for (const fn of graph.functions().filter(({ name }) => name.startsWith("Api")))
    expect(graph.variablesOf(fn)["STREAM_URL"]).toBe("https://streams.example.com");
});

test("without STREAM_DOMAIN there is no container, network or load balancer", () => {
  const types = graphOf("production").resources.map(({ type }) => type);
  expect(types.filter((type) => /^aws:(ecs|ec2|lb|servicediscovery)\//.test(type))).toEqual([]);
});

test("streams of the container are reached with TLS only, and the container only from its network", () => {
  const listeners = graph.all("aws:lb/listener:Listener").map(({ inputs }) => [inputs.port, inputs.protocol]);
  expect(listeners).toEqual([[443, "HTTPS"]]);
  const open = only("aws:ec2/securityGroup:SecurityGroup").inputs.ingress as { fromPort: number; toPort: number }[];
  expect(open.map(({ fromPort, toPort }) => [fromPort, toPort])).toEqual([[443, 443]]);
  const [network] = only("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").inputs.ingress as { cidrBlocks: string[] }[];
  expect(network?.cidrBlocks).toEqual([only("aws:ec2/vpc:Vpc").inputs.cidrBlock]);
  // The service trusts the client address that the load balancer sends in X-Forwarded-For.
  expect(variables["TRUSTED_PROXIES"]).toBe(network?.cidrBlocks[0]);
  expect(graph.all("aws:ec2/natGateway:NatGateway")).toEqual([]);
});

test("the container gets the settings of the functions and its own number of database connections", () => {
  const [fn] = graph.functions().filter(({ name }) => name === "ApiTasksFunction");
  const { STREAM_URL: _url, ...shared } = Object.fromEntries(
    Object.entries(graph.variablesOf(fn!)).filter(([name]) => !name.startsWith("SST_")),
  );
  expect(variables).toMatchObject(shared);
  expect(variables).toMatchObject({
    DATABASE_CONNECTIONS: String(streamContainer.connections),
    HOST: "0.0.0.0",
    PORT: String(streamContainer.port),
  });
  const [target] = only("aws:ecs/service:Service").inputs.loadBalancers as { containerPort: number }[];
  expect(target?.containerPort).toBe(streamContainer.port);
});

test("the container's roles may only pull its image and write its log, and its secrets appear only as secrets", () => {
  const roles = graph.all("aws:iam/role:Role").filter(({ name }) => name.startsWith("Streams"));
  expect(sorted(roles.map(({ name }) => name))).toEqual(["StreamsExecutionRole", "StreamsTaskRole"]);
  expect(roles.flatMap(({ inputs }) => inputs.inlinePolicies)).toEqual([]);
  expect(roles.flatMap(({ inputs }) => inputs.managedPolicyArns ?? [])).toEqual([
    "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy",
  ]);
  const texts = graph.readable.map((resource) => ({ name: resource.name, text: JSON.stringify(resource) }));
  const leaks = variants.container.secrets.flatMap((secret) =>
    texts.filter(({ text }) => text.includes(secretValue(secret))).map(({ name }) => [secret, name]),
  );
  expect(leaks).toEqual([]);
});

test("a new container starts after the migration, and an old one has ten seconds to end its streams", () => {
  expect(only("aws:ecs/service:Service").dependencies).toContain(only("aws:lambda/invocation:Invocation").urn);
  expect(only("aws:lb/targetGroup:TargetGroup").inputs).toMatchObject({
    deregistrationDelay: 10,
    healthCheck: { path: "/health", matcher: "200" },
  });
});

test("the image is built from a file of the repository, which a deployment does not change", () => {
  const { location } = only("docker-build:index:Image").inputs.dockerfile as { location: string };
  expect(path.relative(root, location)).toBe("infra/streams.Dockerfile");
  const [source] = /packages\/\S+\.ts/.exec(readFileSync(location, "utf8")) ?? [];
  expect(existsSync(path.join(root, source!))).toBe(true);
  // SST appends this line when it is missing.
  expect(readFileSync(`${location}.dockerignore`, "utf8").split("\n")).toContain(".sst");
});

test("a container that is missing or nearly at its limit raises an alarm, and no alarm watches a stream function", () => {
  const watching = graph.alarms().filter(({ inputs }) => inputs.namespace === "AWS/ECS");
  expect(sorted(watching.map(({ name }) => name))).toEqual(["StreamsCPUUtilization", "StreamsDown", "StreamsMemoryUtilization"]);
  const dimensions = { ClusterName: only("aws:ecs/cluster:Cluster").inputs.name, ServiceName: "Streams" };
  for (const { inputs } of watching) expect(inputs.dimensions).toEqual(dimensions);
  const [down] = watching.filter(({ name }) => name === "StreamsDown");
  expect(down?.inputs).toMatchObject({ comparisonOperator: "LessThanThreshold", threshold: 1, treatMissingData: "breaching" });
  expect(graph.alarms().map(({ name }) => name)).not.toContain("StreamsNearlyFull");
});
