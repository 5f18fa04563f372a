/** A rendered graph, and the questions that tests ask of it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../support/bundle.ts";
import type { Resource } from "./mocks.ts";
import { folderOf, type VariantName } from "./variants.ts";

/** Marks a value that Pulumi treats specially, here always a secret: it stands in the object's own place. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";

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

export interface Statement {
  /** The role that is allowed. */
  role: string;
  actions: string[];
  resources: string[];
}

export type Graph = ReturnType<typeof graphOf>;

export function graphOf(variant: VariantName) {
  const file = path.join(root, folderOf(variant), "graph.json");
  const { app, resources: sealed } = JSON.parse(readFileSync(file, "utf8")) as {
    app: Record<string, unknown>;
    resources: Resource[];
  };
  const resources = opened(sealed);
  const all = (type: string) => resources.filter((resource) => resource.type === type);
  const functions = () => all("aws:lambda/function:Function");
  const functionOf = (name: string) => functions().find((resource) => resource.name === `${name}Function`) as Resource;

  return {
    /** What sst.config.ts says of the app. */
    app,
    resources,
    /** The same without the values of secrets. */
    readable: hidden(sealed),
    all,
    functions,
    functionOf,
    variablesOf: (resource: Resource): Record<string, string> => resource.inputs.environment.variables,
    consumersOf: (queue: string) => functions().filter(({ name }) => name.startsWith(`${queue}Subscriber`)),
    queues: () => all("aws:sqs/queue:Queue"),
    alarms: () => all("aws:cloudwatch/metricAlarm:MetricAlarm"),
    /** What the roles' own policies allow. */
    allowed: (): Statement[] =>
      all("aws:iam/role:Role").flatMap(({ inputs }) =>
        ((inputs.inlinePolicies ?? []) as { policy: string }[]).flatMap(({ policy }) =>
          (JSON.parse(policy) as { Statement: Statement[] }).Statement.map((statement) => ({ ...statement, role: inputs.name })),
        ),
      ),
    /** The functions that one of the statements is for. */
    functionsWith: (statements: readonly Statement[]) =>
      functions()
        .filter(({ inputs }) => statements.some(({ role }) => inputs.role.endsWith(role)))
        .map(({ name }) => name),
  };
}

/** The one resource that an ARN, a URL or a name ends in. */
export function one(resources: readonly Resource[], reference: string): Resource {
  const found = resources.filter(({ name, inputs }) => reference.endsWith(inputs.name ?? name));
  if (found.length !== 1) throw new Error(`${found.length} resources are called ${reference}`);
  return found[0] as Resource;
}

/** `board-groups` to `BoardGroups`, as components are called. */
export const capitalized = (name: string) => name.replaceAll(/(?:^|-)(.)/g, (_match, first: string) => first.toUpperCase());

/** The order of names, for lists that are compared as a whole. */
export const sorted = (names: readonly string[]) => names.toSorted((one, other) => one.localeCompare(other));
